package parity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// operations are the calls beside Execute. Only data movement has operations, so ours has none of its own.
var operations = []input{
	// In processes of its own: AppliesTo lets ours read the classes, long before the first PVC comes.
	{name: "TA-1 AppliesTo", arguments: bench.ServerArguments, want: "done", call: func(s *side) (any, error) { return s.plugin.Action.AppliesTo() }},
	{name: "D-10 Progress without id", want: "error operation", call: progress("")},
	{name: "TP-1 Progress of an unknown operation", want: "error operation", call: progress("{namespace}")},
	{name: "TP-2 Progress, DataUpload of another namespace", want: "error operation", call: progress("{namespace}"), prepare: dataUpload(bareNamespace)},
	{name: "TP-3 Progress of a failed DataUpload", want: "done", call: progress("{namespace}"), prepare: dataUpload(bench.VeleroNamespace), differs: []string{"D-operations"}},
	{name: "D-20 Cancel without id", want: "error operation", call: cancel("")},
	{name: "TC-1 Cancel", want: "done", call: cancel("{namespace}"), prepare: dataUpload(bench.VeleroNamespace), differs: []string{"D-operations"}},
	{name: "TC-2 Cancel of an unknown operation", want: "error operation", call: cancel("{namespace}")},
	{name: "TC-3 Cancel, DataUpload of another namespace", want: "error operation", call: cancel("{namespace}"), prepare: dataUpload(bareNamespace)},
}

func progress(operation string) func(*side) (any, error) {
	return func(s *side) (any, error) { return s.plugin.Action.Progress(s.expand(operation), s.backup) }
}

func cancel(operation string) func(*side) (any, error) {
	return func(s *side) (any, error) { return nil, s.plugin.Action.Cancel(s.expand(operation), s.backup) }
}

// dataUpload makes a failed DataUpload whose operation is called like this side's namespace.
func dataUpload(namespace string) func(*side) error {
	return func(s *side) error {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
			"metadata": map[string]any{
				"namespace": namespace, "name": s.namespace, "labels": map[string]any{"velero.io/async-operation-id": s.namespace},
			},
			"spec": map[string]any{
				"snapshotType": "CSI", "sourceNamespace": s.namespace, "sourcePVC": s.claim,
				"backupStorageLocation": "default", "operationTimeout": "1m",
			},
			"status": map[string]any{
				"phase": "Failed", "message": "Testing error", "startTimestamp": "2026-01-01T00:00:00Z", "completionTimestamp": "2026-01-01T00:01:00Z",
				"progress": map[string]any{"totalBytes": int64(1000), "bytesDone": int64(1000)},
			},
		}}
		_, err := b.Dynamic.Resource(uploads).Namespace(namespace).Create(s.ctx, object, metav1.CreateOptions{})
		return err
	}
}
