package bench

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// startProxy puts a handler of the test between one user and the API server: it can answer itself, delay, or drop
// the connection after the API server has done what was asked. It serves the API server's certificate and is the
// user towards the API server.
func (b *Bench) startProxy(between func(next http.Handler) http.Handler, user string, groups ...string) (server string, stop func(), err error) {
	identity, err := b.pair(user, groups...)
	if err != nil {
		return "", nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.authority.pem)
	target, err := url.Parse(b.URL)
	if err != nil {
		return "", nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{identity}, RootCAs: roots},
		ForceAttemptHTTP2: true,
	}
	// A watch is passed on as it comes.
	forward.FlushInterval = -1
	forward.ErrorLog = log.New(io.Discard, "", 0)

	own, err := b.pair("kube-apiserver")
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	proxy := &http.Server{
		Handler: between(forward), ErrorLog: forward.ErrorLog,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"h2", "http/1.1"}},
	}
	go func() { _ = proxy.ServeTLS(listener, "", "") }()
	return "https://" + listener.Addr().String(), func() { _ = proxy.Close() }, nil
}

func (b *Bench) pair(user string, groups ...string) (tls.Certificate, error) {
	cert, key, err := b.authority.issue(user, groups...)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
