package bench

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed kwok.yaml
var kwokStages []byte

// NodeName is the one node of a bench with kwok.
const NodeName = "node"

// startKwok makes a node and a kubelet for it that runs nothing: pods are Running as soon as they exist, and what is
// executed in them runs on this host.
func (b *Bench) startKwok(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	config := filepath.Join(b.Dir, "kwok.yaml")
	if err := os.WriteFile(config, kwokStages, 0o600); err != nil {
		return err
	}
	if err := b.authority.files(b.Dir, "kwok", "kwok"); err != nil {
		return err
	}
	kubeconfig, err := b.Kubeconfig("kwok", "system:masters")
	if err != nil {
		return err
	}
	if _, err := b.start("kwok", b.Program("kwok"), "--config="+config, "--kubeconfig="+kubeconfig,
		"--manage-all-nodes", "--node-lease-duration-seconds=0",
		"--node-ip=127.0.0.1", fmt.Sprintf("--node-port=%d", port), fmt.Sprintf("--server-address=127.0.0.1:%d", port),
		"--tls-cert-file="+filepath.Join(b.Dir, "kwok.crt"), "--tls-private-key-file="+filepath.Join(b.Dir, "kwok.key")); err != nil {
		return err
	}
	nodes := b.Kube.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		node, err := nodes.Get(ctx, NodeName, metav1.GetOptions{})
		return err == nil && node.Status.DaemonEndpoints.KubeletEndpoint.Port != 0, fmt.Sprint(err, node)
	})
	if err != nil {
		return fmt.Errorf("node %s has no kubelet: %w", NodeName, err)
	}
	return nil
}
