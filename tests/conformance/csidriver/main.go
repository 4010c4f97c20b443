// Command csidriver is a CSI driver without storage: its snapshots are entries of a map, and how it makes them
// (latency, failures, hangs, cuts that come after the caller gave up) is set over HTTP while it runs.
package main

import (
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	served := map[string]string{}
	flag.Func("serve", "NAME=SOCKET, a driver name and the unix socket of its CSI services; may be repeated", func(value string) error {
		name, socket, found := strings.Cut(value, "=")
		if !found {
			return errors.New("NAME=SOCKET is wanted")
		}
		served[name] = socket
		return nil
	})
	control := flag.String("control", "", "unix socket of the HTTP control")
	flag.Parse()
	if len(served) == 0 || *control == "" {
		log.Fatal("csidriver: --serve and --control are needed")
	}

	storage := newStorage()
	behaviours := newBehaviours()

	// One storage under several names: each name has a csi-snapshotter of its own, with its own time limits.
	for name, socket := range served {
		server := grpc.NewServer(grpc.UnaryInterceptor(logCalls))
		csi.RegisterIdentityServer(server, &identity{name: name})
		csi.RegisterControllerServer(server, &controller{storage: storage, behaviours: behaviours})
		listener := listen(socket)
		go func() { log.Fatal(server.Serve(listener)) }()
	}
	log.Fatal(http.Serve(listen(*control), controlHandler(storage, behaviours)))
}

func listen(path string) net.Listener {
	// A socket left by an earlier run of the same directory would make the listener fail.
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatalf("csidriver: listen on %s: %v", path, err)
	}
	return listener
}
