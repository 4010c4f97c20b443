// Command chart renders a Helm chart with Helm's own engine and its default values, as `helm template` does, and
// prints the manifests. A module of its own keeps Helm's dependencies away from Velero's.
package main

import (
	"flag"
	"fmt"
	"log"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	name := flag.String("name", "conformance", "release name")
	namespace := flag.String("namespace", "velero", "release namespace")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("chart: the folder of a chart is needed")
	}
	chart, err := loader.Load(flag.Arg(0))
	if err != nil {
		log.Fatalf("chart: %v", err)
	}
	release := chartutil.ReleaseOptions{Name: *name, Namespace: *namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, nil, release, nil)
	if err != nil {
		log.Fatalf("chart: %v", err)
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		log.Fatalf("chart: %v", err)
	}
	files := make([]string, 0, len(rendered))
	for file := range rendered {
		// NOTES.txt is for people, and a name with an underscore is a partial.
		if strings.HasSuffix(file, ".yaml") && strings.TrimSpace(rendered[file]) != "" {
			files = append(files, file)
		}
	}
	sort.Strings(files)
	for _, file := range files {
		fmt.Printf("---\n# %s\n%s\n", file, rendered[file])
	}
}
