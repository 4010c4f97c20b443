package bench

// ActionPolicy is a volume policy whose one rule gives the bench's driver to the action; with a handler it names our
// plugin.
func ActionPolicy(action string, ours bool) string {
	text := "version: v1\nvolumePolicies:\n- conditions:\n    csi:\n      driver: " + DriverName + "\n  action:\n    type: " + action + "\n"
	if ours {
		text += "    parameters:\n      handler: velero-plugin-csi-fastpoll\n"
	}
	return text
}

// Policy hands the bench's volumes to our plugin, in the way of the Velero of this run.
func Policy() string {
	if VeleroAtLeast("1.18.1") {
		return ActionPolicy("custom", true)
	}
	return ActionPolicy("skip", true)
}
