package parity

import (
	"context"
	"fmt"
	"time"

	velerocrds "github.com/vmware-tanzu/velero/config/crd/v2alpha1/crds"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var (
	crds    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	uploads = schema.GroupVersionResource{Group: "velero.io", Version: "v2alpha1", Resource: "datauploads"}
	groups  = schema.GroupVersionResource{Group: "groupsnapshot.storage.k8s.io", Version: "v1beta2", Resource: "volumegroupsnapshots"}
)

// bareNamespace is a Velero namespace without node-agent.
const bareNamespace = "velero-bare"

// prepareForDataMovement makes the DataUpload kind and a node-agent that says it is ready.
func prepareForDataMovement(ctx context.Context) error {
	for _, crd := range velerocrds.CRDs {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return err
		}
		delete(object, "status")
		object["apiVersion"], object["kind"] = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		if _, err := b.Dynamic.Resource(crds).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if _, err := b.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bareNamespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	match := map[string]string{"name": "node-agent"}
	agent := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "node-agent", Namespace: bench.VeleroNamespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: match},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: match},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent"}}},
			},
		},
	}
	agents := b.Kube.AppsV1().DaemonSets(bench.VeleroNamespace)
	agent, err := agents.Create(ctx, agent, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	agent.Status.NumberReady = 3
	if _, err := agents.UpdateStatus(ctx, agent, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return bench.Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		_, err := b.Dynamic.Resource(uploads).List(ctx, metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// otherObjects adds what the other two ways of taking a snapshot have made: groups and DataUploads.
func (s *side) otherObjects(add func(string, any) error) error {
	made, err := b.Dynamic.Resource(groups).Namespace(s.namespace).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i, one := range made.Items {
		if err := add(fmt.Sprintf("group[%d].spec", i), one.Object["spec"]); err != nil {
			return err
		}
	}
	moved, err := b.Dynamic.Resource(uploads).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	i := 0
	for _, one := range moved.Items {
		source, _, _ := unstructured.NestedString(one.Object, "spec", "sourceNamespace")
		if source != s.namespace {
			continue
		}
		for what, value := range map[string]any{"spec": one.Object["spec"], "labels": one.GetLabels(), "owners": one.GetOwnerReferences()} {
			if err := add(fmt.Sprintf("upload[%d].%s", i, what), value); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}
