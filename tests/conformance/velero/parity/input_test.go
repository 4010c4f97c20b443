package parity

import (
	"net/http"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// input is one Execute with all that it depends on. The zero value is a bound PVC `data` of 1Gi behind the bench's
// driver, a backup without policy, and storage that cuts at once. In texts `{id}` is a word of this input's own:
// classes and drivers are of the whole cluster.
type input struct {
	// name begins with the ids of what it stands for.
	name string
	// want is what the built-in does: snapshot, echo, marked (with "not a CSI volume"), upload, or error and its kind.
	want string
	// class is the VolumeSnapshotClass that the built-in is expected to choose, where that is the point.
	class string
	// oursClass is the one that ours is to choose, where the built-in chooses another or none.
	oursClass string
	// differs are the differences that must show, by their ids in docs/differences.md.
	differs []string
	// warnings is how many lines of ours Velero counts as warnings.
	warnings int
	// says are texts that our error must contain.
	says []string

	claim  string
	volume func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim)
	item   func(item *unstructured.Unstructured)

	storageClasses []storageClass
	classes        []class
	pods           []pod

	// policy is the text of the backup's policy ConfigMap; data its whole data.
	policy string
	data   map[string]string
	// ours replaces the policy for our action, where the same wish is written differently for it.
	ours   string
	backup func(backup *velerov1.Backup)

	// storage is how the real driver behaves, handling how the stand-in's sidecar does.
	storage  *bench.Behaviour
	handling *handling

	// prepare makes further state before the call; meanwhile runs beside it.
	prepare   func(s *side) error
	meanwhile func(s *side) error
	// between and arguments give the input processes of its own.
	between   func(s *side, next http.Handler) http.Handler
	arguments []string
	// slow leaves the early phase off.
	slow bool
	// call is made in place of Execute; what it returns is compared.
	call func(s *side) (any, error)
	// times is how often Execute is called, one after the other; the last answer counts.
	times int

	topic topic
	id    string
}

// topic is what an input is about, for the count.
type topic string

const (
	aboutClasses     topic = "class"
	aboutEligibility topic = "eligibility"
	aboutPolicies    topic = "policy"
	aboutSizes       topic = "quantity"
	aboutLabels      topic = "label"
	aboutItems       topic = "item"
	aboutWaiting     topic = "wait"
	aboutOperations  topic = "operation"
)

type storageClass struct{ name, provisioner string }

// class is a VolumeSnapshotClass; mark is what makes Velero choose it.
type class struct {
	name, driver string
	label        *string
	isDefault    *string
	retain       bool
}

// pod mounts claims: its volumes are `name=claim`, or `name` alone for an emptyDir.
type pod struct {
	name      string
	volumes   []string
	backup    string
	excludes  string
	phase     corev1.PodPhase
	namespace string
	ephemeral bool
	deleted   bool
}

func is(value string) *string { return &value }

// expand puts an input's own word where a table says {id}.
func (in *input) expand(text string) string { return strings.ReplaceAll(text, "{id}", in.id) }

// hasState is true when the input needs more of the API server than a PVC and its PV.
func (in *input) hasState() bool {
	return len(in.storageClasses)+len(in.classes)+len(in.pods)+len(in.data) > 0 ||
		in.policy != "" || in.storage != nil || in.handling != nil ||
		in.prepare != nil || in.meanwhile != nil || in.between != nil
}

// smallValues are the inputs about a quantity or a label.
func (in *input) smallValue() bool { return in.topic == aboutSizes || in.topic == aboutLabels }

func timeout(limit time.Duration) func(*velerov1.Backup) {
	return func(backup *velerov1.Backup) { backup.Spec.CSISnapshotTimeout.Duration = limit }
}

// all puts several changes together.
func all[T any](changes ...func(T)) func(T) {
	return func(object T) {
		for _, change := range changes {
			change(object)
		}
	}
}
