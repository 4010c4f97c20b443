package bench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// authority signs the API server's certificate and those of its users. A certificate per user and per launched
// plugin is what tells their requests apart in the audit log.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("conformance-ca", nil)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{certificate: parsed, key: key, pem: encode("CERTIFICATE", der)}
	return a, os.WriteFile(filepath.Join(dir, "ca.crt"), a.pem, 0o600)
}

// issue signs a certificate that serves 127.0.0.1 and identifies a client; user is its name, groups its groups.
func (a *authority) issue(user string, groups ...string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := certificate(user, groups)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &private.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	// PKCS #8, the one form that every TLS library reads.
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", encoded), nil
}

// files writes a certificate and its key as NAME.crt and NAME.key.
func (a *authority) files(dir, name, user string, groups ...string) error {
	cert, key, err := a.issue(user, groups...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600)
}

// Kubeconfig writes a file with which a program is `user` in `groups`.
func (b *Bench) Kubeconfig(user string, groups ...string) (string, error) {
	return b.kubeconfig(b.URL, user, groups...)
}

func (b *Bench) kubeconfig(server, user string, groups ...string) (string, error) {
	cert, key, err := b.authority.issue(user, groups...)
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["conformance"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: b.authority.pem}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts["conformance"] = &clientcmdapi.Context{Cluster: "conformance", AuthInfo: "user"}
	config.CurrentContext = "conformance"
	path := filepath.Join(b.Dir, "kubeconfig-"+user)
	return path, clientcmd.WriteToFile(*config, path)
}

func certificate(user string, groups []string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
