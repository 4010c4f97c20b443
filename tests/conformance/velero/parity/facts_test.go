package parity

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
)

// facts are all that one side answered and left, as path → value, with what must differ between two runs (names,
// namespaces, UIDs, times) replaced by a word.
type facts map[string]string

// snapshotName is the form that the API server gives a generated name: at most 58 characters and five more.
var snapshotName = regexp.MustCompile(`^(.{1,58})[bcdfghjklmnpqrstvwxz2456789]{5}$`)

var varying = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"VERSION"`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "SERVER"},
}

// rpcError is an error as Velero's client returns it.
var rpcError = regexp.MustCompile(`(?s)^rpc error: code = (\w+) desc = (.*)$`)

// facts of one side, after it has settled.
func (s *side) facts() (facts, error) {
	found := facts{}
	names := []string{s.namespace, "NAMESPACE"}
	forms := map[string]string{}
	for i, one := range s.state.Snapshots {
		parts := snapshotName.FindStringSubmatch(one.Name)
		if parts == nil {
			return nil, fmt.Errorf("VolumeSnapshot %s has a name of another form", one.Name)
		}
		// The name of the PVC goes first, so that a PVC called like a snapshot's prefix does no harm.
		names = append([]string{one.Name, fmt.Sprintf("SNAPSHOT%d", i)}, names...)
		forms[one.Name] = parts[1] + "?????"
	}
	words := strings.NewReplacer(names...)
	normal := func(text string) string {
		text = words.Replace(text)
		for _, one := range varying {
			text = one.pattern.ReplaceAllString(text, one.word)
		}
		return strings.ReplaceAll(text, s.in.id, "ID")
	}
	addTo := func(facts facts, path string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		var plain any
		decoder := json.NewDecoder(strings.NewReader(normal(string(text))))
		decoder.UseNumber()
		if err := decoder.Decode(&plain); err != nil {
			return err
		}
		facts.flatten(path, plain)
		return nil
	}
	add := func(path string, value any) error { return addTo(found, path, value) }

	for i, one := range s.state.Snapshots {
		path := fmt.Sprintf("snapshot[%d].", i)
		found[path+"form"] = normal(forms[one.Name])
		found[path+"generateName"] = normal(one.GenerateName)
		found[path+"bound"] = fmt.Sprint(one.Status != nil && one.Status.BoundVolumeSnapshotContentName != nil)
		for what, value := range map[string]any{
			"labels": one.Labels, "annotations": one.Annotations, "owners": one.OwnerReferences, "spec": one.Spec,
		} {
			if err := add(path+what, value); err != nil {
				return nil, err
			}
		}
	}
	// Contents have random names; they stand in the order of their VolumeSnapshots.
	slices.SortFunc(s.state.Contents, func(one, other snapshotv1.VolumeSnapshotContent) int {
		return strings.Compare(one.Spec.VolumeSnapshotRef.Name, other.Spec.VolumeSnapshotRef.Name)
	})
	for i, one := range s.state.Contents {
		path := fmt.Sprintf("content[%d].", i)
		found[path+"policy"] = string(one.Spec.DeletionPolicy)
		found[path+"driver"] = normal(one.Spec.Driver)
		found[path+"labels"] = fmt.Sprint(one.Labels)
		found[path+"handle"] = fmt.Sprint(one.Status != nil && one.Status.SnapshotHandle != nil)
	}
	found["storage"] = fmt.Sprint(s.live())
	if err := s.otherObjects(add); err != nil {
		return nil, err
	}

	if s.err != nil {
		parts := rpcError.FindStringSubmatch(s.err.Error())
		if parts == nil {
			return nil, fmt.Errorf("an error that is no answer: %w", s.err)
		}
		found["error.code"] = parts[1]
		found["error.text"] = normal(parts[2])
		found["error.kind"] = kindOf(parts[2])
		return found, nil
	}
	if s.in.call != nil {
		found["answer"] = "done"
		return found, add("called", s.called)
	}
	found["operation"] = normal(s.operation)
	for i, one := range s.additional {
		found[fmt.Sprintf("additional[%d]", i)] = normal(identifier(one))
	}
	for i, one := range s.post {
		found[fmt.Sprintf("post[%d]", i)] = normal(identifier(one))
	}
	asked := facts{}
	if err := addTo(asked, "item", s.item.Object); err != nil {
		return nil, err
	}
	if err := add("item", s.updated.Object); err != nil {
		return nil, err
	}
	found["answer"] = found.answer(asked)
	return found, nil
}

func identifier(one velero.ResourceIdentifier) string {
	return fmt.Sprintf("%s %s/%s", one.GroupResource.String(), one.Namespace, one.Name)
}

const noCSI = "item.metadata.annotations[backup.velero.io/skipped-no-csi-pv]"

// answer names what kind of answer it was.
func (f facts) answer(asked facts) string {
	var changed []string
	for path := range f {
		if strings.HasPrefix(path, "item") && f[path] != asked[path] {
			changed = append(changed, path)
		}
	}
	for path := range asked {
		if _, kept := f[path]; !kept {
			changed = append(changed, path)
		}
	}
	switch {
	case f["operation"] != "":
		return "upload"
	case f["additional[0]"] != "":
		return "snapshot"
	case len(changed) == 0:
		return "echo"
	case f[noCSI] == `"true"`:
		return "marked"
	default:
		sort.Strings(changed)
		return "changed " + strings.Join(changed, " ")
	}
}

// outcome is the answer's kind, or the error's.
func (f facts) outcome() string {
	if f["error.kind"] != "" {
		return "error " + f["error.kind"]
	}
	return f["answer"]
}

func (f facts) flatten(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if strings.ContainsAny(key, "./:[") {
				f.flatten(path+"["+key+"]", inner)
			} else {
				f.flatten(path+"."+key, inner)
			}
		}
		if len(value) == 0 {
			f[path] = "{}"
		}
	case []any:
		for i, inner := range value {
			f.flatten(fmt.Sprintf("%s[%d]", path, i), inner)
		}
		if len(value) == 0 {
			f[path] = "[]"
		}
	default:
		text, _ := json.Marshal(value)
		f[path] = string(text)
	}
}

// under returns the paths that begin with one of the prefixes, sorted.
func (f facts) under(prefixes ...string) (paths []string) {
	for path := range f {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			paths = append(paths, path)
		}
	}
	sort.Strings(paths)
	return paths
}
