package cases

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// P-17, R-41: what we do not know stays as it was, here fields that no PersistentVolumeClaim type has.
func TestUnknownFieldsOfTheItemSurvive(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	claim := s.volume(bench.Volume{Name: "data"})
	unknown := map[string]any{"number": int64(9007199254740993), "list": []any{"a", map[string]any{"b": "<&>"}}, "nothing": nil}
	for _, path := range [][]string{{"metadata", "fromTheFuture"}, {"spec", "fromTheFuture"}, {"status", "fromTheFuture"}, {"fromTheFuture"}} {
		if err := unstructured.SetNestedField(claim.Object, unknown, path...); err != nil {
			t.Fatal(err)
		}
	}
	backup := bench.NewBackup("unknown")
	answer := s.execute(claim, backup)
	s.hasSnapshot(answer, claim, backup)
	if builtin() {
		t.Skip("the built-in loses unknown fields")
	}

	// But for our labels, annotations and nothing else the item is what came.
	expected := claim.DeepCopy()
	expected.SetLabels(answer.item.GetLabels())
	expected.SetAnnotations(answer.item.GetAnnotations())
	if have, want := encoded(t, answer.item), encoded(t, expected); have != want {
		t.Errorf("item changed:\nhave %s\nwant %s", have, want)
	}
}

// a restore size above the request raises it, written as Kubernetes writes it; the live PVC stays.
func TestRestoreSizeAboveTheRequestRaisesIt(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	s.behave(bench.Behaviour{SizeBytes: 1610612736})
	claim := s.volume(bench.Volume{Name: "data"})
	backup := bench.NewBackup("size")
	answer := s.execute(claim, backup)
	s.hasSnapshot(answer, claim, backup)
	request, _, _ := unstructured.NestedString(answer.item.Object, "spec", "resources", "requests", "storage")
	if request != "1536Mi" {
		t.Errorf("request %q, wanted 1536Mi", request)
	}
	s.quiet(0, 0)
}
