package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
)

// auditPolicy records who asked for what, once per request and without bodies: request counts and used rights are
// read from it. RequestReceived would count everything twice.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [system:apiserver]
- level: Metadata
`

func (b *Bench) startEtcd() error {
	client, err := freePort()
	if err != nil {
		return err
	}
	peer, err := freePort()
	if err != nil {
		return err
	}
	b.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	_, err = b.start("etcd", b.Program("etcd"),
		"--name=conformance", "--data-dir="+filepath.Join(b.Dir, "etcd"), "--log-level=warn",
		"--listen-client-urls="+b.etcdURL, "--advertise-client-urls="+b.etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=conformance="+peerURL,
		// The data lives as long as the run; waiting for the disk would only make it slow.
		"--unsafe-no-fsync")
	return err
}

func (b *Bench) prepareAPIServer() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	b.port = port
	b.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
	if b.authority, err = newAuthority(b.Dir); err != nil {
		return err
	}
	if err := b.authority.files(b.Dir, "apiserver", "kube-apiserver"); err != nil {
		return err
	}
	if err := b.authority.files(b.Dir, "service-account", "service-account"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.Dir, "audit-policy.yaml"), []byte(auditPolicy), 0o600)
}

func (b *Bench) startAPIServer() error {
	in := func(name string) string { return filepath.Join(b.Dir, name) }
	started, err := b.start("kube-apiserver", b.Program("kube-apiserver"),
		"--etcd-servers="+b.etcdURL,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", b.port),
		"--tls-cert-file="+in("apiserver.crt"), "--tls-private-key-file="+in("apiserver.key"),
		"--client-ca-file="+in("ca.crt"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://conformance.test",
		"--service-account-key-file="+in("service-account.crt"),
		"--service-account-signing-key-file="+in("service-account.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		// There is no kubelet, no controller manager: nothing makes service accounts, nothing takes finalizers off.
		"--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition",
		"--endpoint-reconciler-type=none",
		// kwok's node has no name that resolves.
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file="+in("audit-policy.yaml"), "--audit-log-path="+in("audit.log"),
		// Megabytes. By default it begins a new file after 100, and who reads audit.log afterwards misses the rest.
		"--audit-log-maxsize=100000",
		"--profiling=false", "--v=1")
	if err != nil {
		return err
	}
	b.apiServer = started
	return nil
}

// KillAPIServer is what a node failure is: SIGKILL, connections reset, then refused.
func (b *Bench) KillAPIServer() {
	b.apiServer.kill()
	b.forget(b.apiServer)
}

// RestartAPIServer starts it again on the same port with the same keys and data, and returns at once: it answers
// 503, 404 and 403 for a while, which is a thing to test.
func (b *Bench) RestartAPIServer() error {
	return b.startAPIServer()
}

// WaitForAPIServer returns when /readyz is good and an admin's LIST works.
func (b *Bench) WaitForAPIServer(ctx context.Context) error {
	err := Eventually(ctx, time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		if !b.apiServer.alive() {
			return true, ""
		}
		return ready(ctx, b.Kube)
	})
	if !b.apiServer.alive() {
		return errors.New("kube-apiserver has exited, see kube-apiserver.log")
	}
	return err
}

func ready(ctx context.Context, client kubernetes.Interface) (bool, string) {
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(short)
	if err != nil {
		return false, err.Error() + " " + string(answer)
	}
	return true, ""
}
