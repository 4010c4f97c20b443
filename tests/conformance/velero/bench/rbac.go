package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	// pluginGroup is the group of every launched plugin's user; it has the plugin's role and nothing else.
	pluginGroup = "conformance:plugin"
	// builtinGroup is for Velero's built-in action, which needs what the Velero server has.
	builtinGroup = "system:masters"
	// binding is what the audit log's reason names when a request was allowed by the plugin's role.
	binding = "conformance-plugin"
)

// Rule is one right: a verb on a resource, in one namespace or (empty) in all.
type Rule struct{ Verb, Group, Resource, Namespace string }

func (r Rule) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// bindPluginRole creates the plugin's roles as the chart renders them and binds them to pluginGroup. The chart's
// own bindings name a service account, which nobody is here.
func (b *Bench) bindPluginRole(ctx context.Context) error {
	manifests, err := b.renderRole()
	if err != nil {
		return err
	}
	subject := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: pluginGroup}}
	for _, document := range bytes.Split(manifests, []byte("\n---")) {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return fmt.Errorf("plugin's role: %w", err)
		}
		switch meta.Kind {
		case "ClusterRole":
			var role rbacv1.ClusterRole
			if err := yaml.UnmarshalStrict(document, &role); err != nil {
				return fmt.Errorf("plugin's role: %w", err)
			}
			if _, err := b.Kube.RbacV1().ClusterRoles().Create(ctx, &role, metav1.CreateOptions{}); err != nil {
				return err
			}
			bind := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: binding + "-" + role.Name}, Subjects: subject,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			}
			if _, err := b.Kube.RbacV1().ClusterRoleBindings().Create(ctx, bind, metav1.CreateOptions{}); err != nil {
				return err
			}
			b.addRules(role.Rules, "")
		case "Role":
			var role rbacv1.Role
			if err := yaml.UnmarshalStrict(document, &role); err != nil {
				return fmt.Errorf("plugin's role: %w", err)
			}
			role.Namespace = VeleroNamespace
			if _, err := b.Kube.RbacV1().Roles(VeleroNamespace).Create(ctx, &role, metav1.CreateOptions{}); err != nil {
				return err
			}
			bind := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: binding + "-" + role.Name}, Subjects: subject,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			}
			if _, err := b.Kube.RbacV1().RoleBindings(VeleroNamespace).Create(ctx, bind, metav1.CreateOptions{}); err != nil {
				return err
			}
			b.addRules(role.Rules, VeleroNamespace)
		}
	}
	if len(b.PluginRules) == 0 {
		return fmt.Errorf("no ClusterRole and no Role among the rendered manifests")
	}
	return nil
}

func (b *Bench) addRules(rules []rbacv1.PolicyRule, namespace string) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					b.PluginRules = append(b.PluginRules, Rule{verb, group, resource, namespace})
				}
			}
		}
	}
}

// renderRole is the chart by Helm's engine, with its default values.
func (b *Bench) renderRole() ([]byte, error) {
	chart := filepath.Join(os.Getenv("CONFORMANCE_REPO"), "charts", "velero-plugin-csi-fastpoll")
	var problem bytes.Buffer
	command := exec.Command(b.Program("chart"), "-namespace", VeleroNamespace, chart)
	command.Stderr = &problem
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("render %s: %w: %s", chart, err, problem.String())
	}
	return text, nil
}

// RuleUse is where the role and the requests differ: rights that no request needed, and requests that were refused
// whenever they were made.
type RuleUse struct{ Unused, Refused []string }

// RuleUse reads the whole run's audit log. Which binding allowed a request is the API server's own word (the
// audit annotation with its reason), so rights that everyone has, like /readyz, do not count as used.
func (b *Bench) RuleUse() (use RuleUse, err error) {
	requests, err := b.Requests(IsPlugin)
	if err != nil {
		return use, err
	}
	used, allowed, refused := map[Rule]bool{}, map[string]bool{}, map[string]bool{}
	for _, request := range requests {
		rule := Rule{Verb: request.Verb, Group: request.Object.Group, Resource: request.Object.Resource}
		if request.Object.Subresource != "" {
			rule.Resource += "/" + request.Object.Subresource
		}
		if rule.Resource == "" {
			// /readyz and the like: everyone has that right, and it is not the role's.
			continue
		}
		if request.Annotations["authorization.k8s.io/decision"] == "forbid" {
			refused[rule.String()] = true
			continue
		}
		allowed[rule.String()] = true
		if strings.Contains(request.Annotations["authorization.k8s.io/reason"], `Binding "`+binding) {
			used[rule] = true
			rule.Namespace = request.Object.Namespace
			used[rule] = true
		}
	}
	for _, rule := range b.PluginRules {
		if !used[rule] {
			use.Unused = append(use.Unused, rule.String())
		}
	}
	for text := range refused {
		// A server that has just started refuses for a moment what it allows afterwards.
		if !allowed[text] {
			use.Refused = append(use.Refused, text)
		}
	}
	sort.Strings(use.Unused)
	sort.Strings(use.Refused)
	return use, nil
}
