package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Application is a pod with volumes, frozen by Velero's hooks while it is backed up.
type Application struct {
	// Name is the pod's; empty: "app".
	Name string
	// Volumes are made when they do not exist, so that two pods can share one.
	Volumes []Volume
	// Labels and Annotations are the pod's, beside those of the hooks.
	Labels, Annotations map[string]string
}

// Volumes returns n volumes called data-0, data-1, …
func Volumes(n int) []Volume {
	volumes := make([]Volume, n)
	for i := range volumes {
		volumes[i].Name = fmt.Sprintf("data-%d", i)
	}
	return volumes
}

// CreateApplication makes the volumes and the pod and returns when the pod runs.
func (b *Bench) CreateApplication(ctx context.Context, namespace string, app Application) error {
	if app.Name == "" {
		app.Name = "app"
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app.Name, Labels: app.Labels, Annotations: b.hooks(namespace, app.Name)},
		Spec:       corev1.PodSpec{NodeName: NodeName, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	for key, value := range app.Annotations {
		pod.Annotations[key] = value
	}
	for _, volume := range app.Volumes {
		if _, err := b.CreateVolume(ctx, namespace, volume); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume.Name},
		}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{
			Name: volume.Name, MountPath: "/" + volume.Name,
		})
	}
	pods := b.Kube.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := Eventually(ctx, 30*time.Second, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		seen, err := pods.Get(ctx, app.Name, metav1.GetOptions{})
		return err == nil && seen.Status.Phase == corev1.PodRunning, fmt.Sprint(err, seen.Status)
	})
	if err != nil {
		return fmt.Errorf("pod %s/%s is not Running: %w", namespace, app.Name, err)
	}
	return nil
}

// hooks are Velero's annotations for a freeze and a thaw. Each writes the time into a file of the bench, the freeze
// as its last and the thaw as its first deed, so that the time between them is what the application sees.
func (b *Bench) hooks(namespace, pod string) map[string]string {
	stamp := func(what string) string {
		return fmt.Sprintf(`["/bin/sh","-c","date +%%s%%N >> %s"]`, b.stamps(namespace, pod, what))
	}
	return map[string]string{
		"pre.hook.backup.velero.io/container":  "app",
		"pre.hook.backup.velero.io/command":    stamp("frozen"),
		"post.hook.backup.velero.io/container": "app",
		"post.hook.backup.velero.io/command":   stamp("thawed"),
	}
}

func (b *Bench) stamps(namespace, pod, what string) string {
	return filepath.Join(b.Dir, fmt.Sprintf("%s.%s.%s", namespace, pod, what))
}

// Window is one freeze of a pod.
type Window struct{ Frozen, Thawed time.Time }

// Length is how long the pod was frozen.
func (w Window) Length() time.Duration { return w.Thawed.Sub(w.Frozen) }

// Windows are the freezes of a pod by the hooks' own stamps, oldest first. A freeze without a thaw has a zero Thawed
// and must be the last.
func (b *Bench) Windows(namespace, pod string) ([]Window, error) {
	frozen, err := readStamps(b.stamps(namespace, pod, "frozen"))
	if err != nil {
		return nil, err
	}
	thawed, err := readStamps(b.stamps(namespace, pod, "thawed"))
	if err != nil {
		return nil, err
	}
	if len(thawed) > len(frozen) || len(frozen) > len(thawed)+1 {
		return nil, fmt.Errorf("%s/%s: %d freezes and %d thaws", namespace, pod, len(frozen), len(thawed))
	}
	windows := make([]Window, len(frozen))
	for i := range frozen {
		windows[i].Frozen = frozen[i]
		if i < len(thawed) {
			windows[i].Thawed = thawed[i]
		}
	}
	return windows, nil
}

func readStamps(path string) ([]time.Time, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var times []time.Time
	for _, line := range strings.Fields(string(text)) {
		nanoseconds, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		times = append(times, time.Unix(0, nanoseconds))
	}
	return times, nil
}
