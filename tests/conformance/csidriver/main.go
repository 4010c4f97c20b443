// Command csidriver is a CSI driver without storage: its snapshots are entries of a map, and how it makes them
// (latency, failures, hangs, cuts that come after the caller gave up) is set over HTTP while it runs.
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	name := flag.String("name", "fastpoll.csi.test", "driver name, as in CSIDriver and VolumeSnapshotClass")
	endpoint := flag.String("endpoint", "", "unix socket of the CSI services")
	control := flag.String("control", "", "unix socket of the HTTP control")
	flag.Parse()
	if *endpoint == "" || *control == "" {
		log.Fatal("csidriver: --endpoint and --control are needed")
	}

	storage := newStorage()
	behaviours := newBehaviours()

	go func() {
		log.Fatal(http.Serve(listen(*control), controlHandler(storage, behaviours)))
	}()

	server := grpc.NewServer(grpc.UnaryInterceptor(logCalls))
	csi.RegisterIdentityServer(server, &identity{name: *name})
	csi.RegisterControllerServer(server, &controller{storage: storage, behaviours: behaviours})
	log.Fatal(server.Serve(listen(*endpoint)))
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
