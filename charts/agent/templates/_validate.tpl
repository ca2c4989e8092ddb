{{/*
Checks values that need or exclude each other, for which the schema has no helpful messages. Called once, from the first
manifest. Fails with one line that names the value and the remedy.
*/}}
{{- define "location-agent.validate" -}}
{{- $values := .Values -}}
{{- if not $values.serviceUrl -}}
{{- fail "serviceUrl is missing: set it to the URL of the monitoring service, such as https://monitoring.example" -}}
{{- end -}}
{{- if and $values.apiKey.existingSecret $values.apiKey.value -}}
{{- fail "apiKey: set existingSecret or value, not both" -}}
{{- else if not (or $values.apiKey.existingSecret $values.apiKey.value) -}}
{{- fail "apiKey is missing: name a Secret in apiKey.existingSecret, or set apiKey.value to a key of the private location (pl_…)" -}}
{{- end -}}
{{- if and $values.proxy.existingSecret (or $values.proxy.http $values.proxy.https) -}}
{{- fail "proxy: set existingSecret or the values http and https, not both" -}}
{{- end -}}
{{- $ca := $values.caBundle -}}
{{- if gt (len (compact (list $ca.pem $ca.existingConfigMap $ca.existingSecret))) 1 -}}
{{- fail "caBundle: set one of pem, existingConfigMap and existingSecret" -}}
{{- end -}}
{{- $rolling := $values.strategy.rollingUpdate -}}
{{- if and (eq $values.strategy.type "RollingUpdate") $rolling -}}
{{- if and (has (toString $rolling.maxSurge) (list "0" "0%")) (has (toString $rolling.maxUnavailable) (list "0" "0%")) -}}
{{- fail "strategy.rollingUpdate: maxSurge and maxUnavailable are both 0, so no agent can be replaced; raise one of them" -}}
{{- end -}}
{{- end -}}
{{- if and (eq $values.dnsPolicy "None") (not (($values.dnsConfig).nameservers)) -}}
{{- fail "dnsPolicy None needs name servers: set dnsConfig.nameservers" -}}
{{- end -}}
{{- $enabled := 0 -}}
{{- range $key, $deployment := $values.deployments -}}
{{- if $deployment.enabled -}}
{{- $enabled = add1 $enabled -}}
{{- include "location-agent.validateDeployment" (dict "root" $ "key" $key "deployment" $deployment) -}}
{{- end -}}
{{- end -}}
{{- if not $enabled -}}
{{- fail "deployments: none is enabled; enable deployments.all, or one or more of uptime, browser and suite" -}}
{{- end -}}
{{- end -}}

{{- define "location-agent.validateDeployment" -}}
{{- $where := printf "deployments.%s" .key -}}
{{- $slots := .deployment.slots -}}
{{- if not (or $slots.uptime $slots.browser $slots.suite) -}}
{{- fail (printf "%s.slots: uptime, browser and suite are all 0; give at least one lane slots" $where) -}}
{{- end -}}
{{- if and .deployment.data.existingClaim .deployment.data.ephemeral -}}
{{- fail (printf "%s.data: set existingClaim or ephemeral, not both" $where) -}}
{{- end -}}
{{- if .deployment.autoscaling.enabled -}}
{{- if or (not .root.Values.autoscaling.prometheusUrl) (not .root.Values.autoscaling.location) -}}
{{- fail (printf "%s.autoscaling needs autoscaling.prometheusUrl and autoscaling.location (the slugName)" $where) -}}
{{- end -}}
{{- if eq (toString $slots.browser) "auto" -}}
{{- fail (printf "%s.autoscaling needs a number in %s.slots.browser, not auto" $where $where) -}}
{{- end -}}
{{- if gt (int .deployment.autoscaling.minReplicas) (int .deployment.autoscaling.maxReplicas) -}}
{{- fail (printf "%s.autoscaling: minReplicas is more than maxReplicas; lower it or raise maxReplicas" $where) -}}
{{- end -}}
{{- end -}}
{{- $own := list "API_KEY" "API_KEY_FILE" "SERVICE_URL" "UPTIME_CONCURRENCY" "JOB_CONCURRENCY" "SUITE_CONCURRENCY"
  "LOG_LEVEL" "LOG_FORMAT" "AGENT_HEALTH_PORT" "AGENT_HEALTH_HOST" "AGENT_DATA_DIR" "AGENT_SHUTDOWN_GRACE_SECONDS" "AGENT_CONTINUE_HOURS" "HTTP_PROXY" "HTTPS_PROXY" "NO_PROXY"
  "NODE_EXTRA_CA_CERTS" "USE_OS_DNS_RESOLVER" "DEPENDENCY_CACHE" "EXTERNAL_OBSERVABILITY" "DETECT_SECRETS"
  "NETWORK_EVIDENCE" "SCRIPT_ALLOWED_NETWORKS" "SCRIPT_DENIED_NETWORKS" -}}
{{- $settings := include "location-agent.settings" . | fromYaml -}}
{{- if not $settings.image.repository -}}
{{- fail (printf "%s: image.repository is empty: set it to the agents' image" $where) -}}
{{- end -}}
{{- $limits := default dict ($settings.resources).limits -}}
{{- range $name, $request := ($settings.resources).requests -}}
{{- $limit := index $limits $name -}}
{{- if and $limit $request -}}
{{- if gt (include "location-agent.quantity" $request | float64) (include "location-agent.quantity" $limit | float64) -}}
{{- fail (printf "%s.resources: requests.%s (%v) is more than limits.%s (%v); raise the limit or lower the request" $where $name $request $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $volume := $settings.extraVolumes -}}
{{- if has $volume.name (list "data" "tmp" "api-key" "shared-memory" "ca") -}}
{{- fail (printf "extraVolumes: %s is the name of a volume of the chart; use another name" $volume.name) -}}
{{- end -}}
{{- end -}}
{{- range $variable := $settings.extraEnv -}}
{{- if has (upper $variable.name) $own -}}
{{- fail (printf "extraEnv: %s is set by a value of its own; see the chart's README" $variable.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A Kubernetes quantity as a plain number. */}}
{{- define "location-agent.quantity" -}}
{{- $text := toString . -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- $factors := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12
  "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- printf "%f" (mulf (trimSuffix $unit $text | float64) (default 1.0 (get $factors $unit))) -}}
{{- end -}}
