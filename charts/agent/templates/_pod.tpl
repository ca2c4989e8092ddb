{{/* The agent's environment variables. Takes root and settings. */}}
{{- define "location-agent.env" -}}
{{- $values := .root.Values -}}
{{- $agent := $values.agent -}}
{{- $slots := .settings.slots -}}
- { name: SERVICE_URL, value: {{ $values.serviceUrl | quote }} }
- { name: API_KEY_FILE, value: /run/secrets/location-agent/api-key }
- { name: AGENT_DATA_DIR, value: /var/lib/location-agent }
- { name: AGENT_HEALTH_PORT, value: {{ $agent.healthPort | toString | quote }} }
- { name: AGENT_SHUTDOWN_GRACE_SECONDS, value: {{ .settings.shutdownGraceSeconds | toString | quote }} }
- { name: AGENT_CONTINUE_HOURS, value: {{ int $agent.continueHours | toString | quote }} }
- { name: UPTIME_CONCURRENCY, value: {{ $slots.uptime | toString | quote }} }
- { name: JOB_CONCURRENCY, value: {{ $slots.browser | toString | quote }} }
- { name: SUITE_CONCURRENCY, value: {{ $slots.suite | toString | quote }} }
- { name: LOG_LEVEL, value: {{ $agent.logLevel | quote }} }
- { name: LOG_FORMAT, value: {{ $agent.logFormat | quote }} }
- { name: USE_OS_DNS_RESOLVER, value: {{ $agent.useOsDnsResolver | toString | quote }} }
- { name: DEPENDENCY_CACHE, value: {{ $agent.dependencyCache | quote }} }
- { name: EXTERNAL_OBSERVABILITY, value: {{ $agent.externalObservability | toString | quote }} }
- { name: DETECT_SECRETS, value: {{ $agent.detectSecrets | toString | quote }} }
- { name: NETWORK_EVIDENCE, value: {{ $agent.networkEvidence | toString | quote }} }
{{- with $agent.scriptAllowedNetworks }}
- { name: SCRIPT_ALLOWED_NETWORKS, value: {{ join "," . | quote }} }
{{- end }}
{{- with $agent.scriptDeniedNetworks }}
- { name: SCRIPT_DENIED_NETWORKS, value: {{ join "," . | quote }} }
{{- end }}
{{- if include "location-agent.caSource" .root }}
- { name: NODE_EXTRA_CA_CERTS, value: /run/config/location-agent/ca.crt }
{{- end }}
{{- $proxy := $values.proxy -}}
{{- $proxySecret := default (include "location-agent.fullname" .root) $proxy.existingSecret -}}
{{- range $name, $value := dict "http" $proxy.http "https" $proxy.https }}
{{- if or $value $proxy.existingSecret }}
- name: {{ upper $name }}_PROXY
  valueFrom:
    secretKeyRef: { name: {{ $proxySecret | quote }}, key: {{ $name }}-proxy{{ if $proxy.existingSecret }}, optional: true{{ end }} }
{{- end }}
{{- end }}
{{- with $proxy.noProxy }}
- { name: NO_PROXY, value: {{ . | quote }} }
{{- end }}
{{- with .settings.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "location-agent.volumeMounts" -}}
- { name: data, mountPath: /var/lib/location-agent }
- { name: tmp, mountPath: /tmp }
- { name: api-key, mountPath: /run/secrets/location-agent, readOnly: true }
{{- if .settings.sharedMemorySizeLimit }}
- { name: shared-memory, mountPath: /dev/shm }
{{- end }}
{{- if include "location-agent.caSource" .root }}
- { name: ca, mountPath: /run/config/location-agent, readOnly: true }
{{- end }}
{{- with .settings.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "location-agent.volumes" -}}
{{- $apiKey := .root.Values.apiKey -}}
{{- $data := .settings.data -}}
- name: data
{{- if $data.existingClaim }}
  persistentVolumeClaim: { claimName: {{ $data.existingClaim | quote }} }
{{- else if $data.ephemeral }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $data.ephemeral.storageClassName }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources: { requests: { storage: {{ $data.ephemeral.size | quote }} } }
{{- else }}
  emptyDir: { sizeLimit: {{ $data.sizeLimit | quote }} }
{{- end }}
- name: tmp
  emptyDir: { sizeLimit: {{ .settings.tmpSizeLimit | quote }} }
- name: api-key
  secret:
    secretName: {{ default (include "location-agent.fullname" .root) $apiKey.existingSecret | quote }}
    # 0440, for the pod's group.
    defaultMode: 288
    items: [{ key: {{ ternary $apiKey.existingSecretKey "api-key" (not (empty $apiKey.existingSecret)) | quote }}, path: api-key }]
{{- with .settings.sharedMemorySizeLimit }}
- name: shared-memory
  emptyDir: { medium: Memory, sizeLimit: {{ . | quote }} }
{{- end }}
{{- with include "location-agent.caSource" .root }}
- name: ca
  {{- . | nindent 2 }}
{{- end }}
{{- with .settings.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "location-agent.podSecurityContext" -}}
{{- $context := deepCopy .root.Values.podSecurityContext -}}
{{- with .settings.seccompLocalhostProfile -}}
{{- $_ := set $context "seccompProfile" (dict "type" "Localhost" "localhostProfile" .) -}}
{{- end -}}
{{- if .root.Values.icmp.pingGroupRange -}}
{{- $group := $context.runAsGroup -}}
{{- $range := ternary "0 2147483647" (printf "%d %d" (int64 $group) (int64 $group)) (empty $group) -}}
{{- $sysctl := dict "name" "net.ipv4.ping_group_range" "value" $range -}}
{{- $_ := set $context "sysctls" (append (default list $context.sysctls) $sysctl) -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}

{{- define "location-agent.securityContext" -}}
{{- $context := deepCopy .root.Values.securityContext -}}
{{- if .root.Values.icmp.netRaw -}}
{{- $capabilities := default dict $context.capabilities -}}
{{- $_ := set $capabilities "add" (append (default list $capabilities.add) "NET_RAW" | uniq) -}}
{{- $_ := set $context "capabilities" $capabilities -}}
{{- /* The helper gains the capability of its file on exec, which no_new_privs would forbid. */ -}}
{{- $_ := set $context "allowPrivilegeEscalation" true -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}

{{- define "location-agent.topologySpreadConstraints" -}}
{{- $constraints := list -}}
{{- $selector := include "location-agent.selector" . | fromYaml -}}
{{- range .settings.topologySpreadConstraints -}}
{{- $constraint := deepCopy . -}}
{{- if not $constraint.labelSelector -}}
{{- $_ := set $constraint "labelSelector" (dict "matchLabels" $selector) -}}
{{- if not $constraint.matchLabelKeys -}}
{{- $_ := set $constraint "matchLabelKeys" (list "pod-template-hash") -}}
{{- end -}}
{{- end -}}
{{- $constraints = append $constraints $constraint -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}

{{- define "location-agent.image" -}}
{{- $image := .settings.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "location-agent.probe" -}}
{{- $probe := deepCopy .probe -}}
{{- $_ := set $probe "httpGet" (dict "path" .path "port" "health") -}}
{{- toYaml $probe -}}
{{- end -}}

{{/* Takes root, key and settings. */}}
{{- define "location-agent.podSpec" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ include "location-agent.serviceAccountName" .root | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ add 30 (int .settings.shutdownGraceSeconds) }}
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext: {{ include "location-agent.podSecurityContext" . | nindent 2 }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- if .settings.topologySpreadConstraints }}
topologySpreadConstraints: {{ include "location-agent.topologySpreadConstraints" . | nindent 2 }}
{{- end }}
{{- with $values.hostAliases }}
hostAliases: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.dnsPolicy }}
dnsPolicy: {{ . | quote }}
{{- end }}
{{- with $values.dnsConfig }}
dnsConfig: {{ toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: agent
    image: {{ include "location-agent.image" . | quote }}
    imagePullPolicy: {{ .settings.image.pullPolicy | quote }}
    args: [start]
    securityContext: {{ include "location-agent.securityContext" . | nindent 6 }}
    env: {{ include "location-agent.env" . | nindent 6 }}
    {{- with .settings.extraEnvFrom }}
    envFrom: {{ toYaml . | nindent 6 }}
    {{- end }}
    ports:
      - { name: health, containerPort: {{ int $values.agent.healthPort }}, protocol: TCP }
    {{- /* The port answers before the service has accepted the agent, so no agent restarts while the service is unavailable. */}}
    startupProbe: {{ include "location-agent.probe" (dict "probe" $values.startupProbe "path" "/-/liveness") | nindent 6 }}
    readinessProbe: {{ include "location-agent.probe" (dict "probe" $values.readinessProbe "path" "/-/readiness") | nindent 6 }}
    livenessProbe: {{ include "location-agent.probe" (dict "probe" $values.livenessProbe "path" "/-/liveness") | nindent 6 }}
    {{- with .settings.resources }}
    resources: {{ toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts: {{ include "location-agent.volumeMounts" . | nindent 6 }}
volumes: {{ include "location-agent.volumes" . | nindent 2 }}
{{- end -}}
