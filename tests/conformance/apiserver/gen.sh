set -e
go mod download k8s.io/kubernetes@v1.36.3
D=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes@v1.36.3 2>/dev/null || echo $(go env GOMODCACHE)/k8s.io/kubernetes@v1.36.3)
{
cat <<H
module velero-plugin-csi-fastpoll.test/apiserver

go 1.26

require k8s.io/kubernetes v1.36.3

tool k8s.io/kubernetes/cmd/kube-apiserver

H
grep -oE '^	?(replace )?k8s.io/[a-z-]+ => ./staging' $D/go.mod | grep -oE 'k8s.io/[a-z-]+' | sed 's#.*#replace & => & v0.36.3#'
} > go.mod
