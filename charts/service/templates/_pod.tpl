{{/* The environment variables of the service. */}}
{{- define "monitoring-service.env" -}}
{{- $values := .Values -}}
{{- $settings := $values.settings -}}
- { name: SERVICE_HOST, value: 0.0.0.0 }
- { name: SERVICE_PORT, value: '4400' }
{{- with include "monitoring-service.publicUrl" . }}
- { name: SERVICE_PUBLIC_URL, value: {{ . | quote }} }
{{- end }}
- { name: SERVICE_AGENT_IMAGE, value: {{ include "monitoring-service.image" . | quote }} }
- { name: SERVICE_DATA_DIR, value: /var/lib/location-agent }
- { name: DATABASE_URL_FILE, value: /run/secrets/database/database-url }
- { name: SERVICE_ENCRYPTION_KEY_FILE, value: /run/secrets/keys/encryption-key }
{{- if $values.keys.apiKey }}
- { name: SERVICE_API_KEY_FILE, value: /run/secrets/keys/api-key }
{{- end }}
{{- if $values.keys.locationKey }}
- { name: SERVICE_LOCATION_KEY_FILE, value: /run/secrets/keys/location-key }
{{- end }}
{{- with $values.keys.locationSlug }}
- { name: SERVICE_LOCATION_SLUG, value: {{ . | quote }} }
{{- end }}
- { name: LOG_LEVEL, value: {{ $settings.logLevel | quote }} }
- { name: LOG_FORMAT, value: {{ $settings.logFormat | quote }} }
- { name: NOTIFICATION_PRIVATE_TARGETS, value: {{ $settings.notificationPrivateTargets | quote }} }
- { name: SERVICE_RATE_LIMIT, value: {{ int $settings.rateLimit | toString | quote }} }
- { name: SERVICE_PUBLIC_RATE_LIMIT, value: {{ int $settings.publicRateLimit | toString | quote }} }
{{- with $settings.trustedProxies }}
- { name: SERVICE_TRUSTED_PROXIES, value: {{ join "," . | quote }} }
{{- end }}
{{- if kindIs "bool" $settings.assignments }}
- { name: SERVICE_ASSIGNMENTS, value: {{ $settings.assignments | toString | quote }} }
{{- end }}
- { name: SERVICE_RETENTION_DAYS, value: {{ int $settings.retentionDays | toString | quote }} }
{{- with $settings.artifactRetentionDays }}
- { name: SERVICE_ARTIFACT_RETENTION_DAYS, value: {{ int . | toString | quote }} }
{{- end }}
- { name: SERVICE_RESULT_FILES_AFTER_DAYS, value: {{ int $settings.resultFilesAfterDays | toString | quote }} }
- { name: SERVICE_ROLLUP_RETENTION_DAYS, value: {{ int $settings.rollupRetentionDays | toString | quote }} }
{{- if $values.mail.existingSecret }}
- { name: SMTP_URL_FILE, value: /run/secrets/mail/smtp-url }
{{- end }}
{{- with $values.mail.from }}
- { name: SMTP_FROM, value: {{ . | quote }} }
{{- end }}
{{- with $values.artifacts }}
{{- if .bucket }}
- { name: SERVICE_ARTIFACT_STORE, value: {{ .bucket | quote }} }
- { name: S3_SECRET_ACCESS_KEY_FILE, value: /run/secrets/bucket/secret-access-key }
- name: S3_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef: { name: {{ .existingSecret | quote }}, key: {{ .accessKeyId | quote }} }
- { name: S3_PRESIGNED_DOWNLOADS, value: {{ .presignedDownloads | toString | quote }} }
{{- if .region }}
- { name: S3_REGION, value: {{ .region | quote }} }
{{- end }}
{{- if .endpoint }}
- { name: S3_ENDPOINT, value: {{ .endpoint | quote }} }
{{- end }}
{{- if ne (toString .forcePathStyle) "" }}
- { name: S3_FORCE_PATH_STYLE, value: {{ .forcePathStyle | toString | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- if $values.caBundle.existingConfigMap }}
- { name: NODE_EXTRA_CA_CERTS, value: /run/config/ca/ca.crt }
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A volume with entries of a Secret, readable for the pod's group (0440). Takes name, secret and items. */}}
{{- define "monitoring-service.secretVolume" -}}
{{- $items := list -}}
{{- range $path, $key := .items -}}
{{- if $key -}}{{- $items = append $items (dict "key" $key "path" $path) -}}{{- end -}}
{{- end -}}
- name: {{ .name }}
  secret: {{ dict "secretName" .secret "defaultMode" 288 "items" $items | toJson }}
{{- end -}}

{{- define "monitoring-service.volumes" -}}
{{- $values := .Values -}}
- name: data
{{- if $values.data.existingClaim }}
  persistentVolumeClaim: { claimName: {{ $values.data.existingClaim | quote }} }
{{- else }}
  emptyDir: { sizeLimit: {{ $values.data.sizeLimit | quote }} }
{{- end }}
- name: tmp
  emptyDir: { sizeLimit: {{ $values.tmpSizeLimit | quote }} }
{{ include "monitoring-service.secretVolume" (dict "name" "database" "secret" $values.database.existingSecret
  "items" (dict "database-url" $values.database.existingSecretKey)) }}
{{ include "monitoring-service.secretVolume" (dict "name" "keys" "secret" $values.keys.existingSecret
  "items" (dict "encryption-key" $values.keys.encryptionKey "api-key" $values.keys.apiKey "location-key" $values.keys.locationKey)) }}
{{- if $values.mail.existingSecret }}
{{ include "monitoring-service.secretVolume" (dict "name" "mail" "secret" $values.mail.existingSecret
  "items" (dict "smtp-url" $values.mail.existingSecretKey)) }}
{{- end }}
{{- if $values.artifacts.bucket }}
{{ include "monitoring-service.secretVolume" (dict "name" "bucket" "secret" $values.artifacts.existingSecret
  "items" (dict "secret-access-key" $values.artifacts.secretAccessKey)) }}
{{- end }}
{{- with $values.caBundle }}
{{- if .existingConfigMap }}
- name: ca
  configMap: {{ dict "name" .existingConfigMap "items" (list (dict "key" .key "path" "ca.crt")) | toJson }}
{{- end }}
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "monitoring-service.volumeMounts" -}}
- { name: data, mountPath: /var/lib/location-agent }
- { name: tmp, mountPath: /tmp }
- { name: database, mountPath: /run/secrets/database, readOnly: true }
- { name: keys, mountPath: /run/secrets/keys, readOnly: true }
{{- if .Values.mail.existingSecret }}
- { name: mail, mountPath: /run/secrets/mail, readOnly: true }
{{- end }}
{{- if .Values.artifacts.bucket }}
- { name: bucket, mountPath: /run/secrets/bucket, readOnly: true }
{{- end }}
{{- if .Values.caBundle.existingConfigMap }}
- { name: ca, mountPath: /run/config/ca, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "monitoring-service.topologySpreadConstraints" -}}
{{- $constraints := list -}}
{{- $selector := include "monitoring-service.selector" . | fromYaml -}}
{{- range .Values.topologySpreadConstraints -}}
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

{{- define "monitoring-service.probe" -}}
{{- $probe := deepCopy .probe -}}
{{- $_ := set $probe "httpGet" (dict "path" .path "port" "http") -}}
{{- toYaml $probe -}}
{{- end -}}

{{/* Fields that the replicas and the test pod share. */}}
{{- define "monitoring-service.podBase" -}}
{{- $values := .Values -}}
serviceAccountName: {{ include "monitoring-service.serviceAccountName" . | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext: {{ toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "monitoring-service.podSpec" -}}
{{- $values := .Values -}}
{{ include "monitoring-service.podBase" . }}
# The service closes within 60 s.
terminationGracePeriodSeconds: {{ add 75 (int $values.preStopSeconds) }}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints: {{ include "monitoring-service.topologySpreadConstraints" . | nindent 2 }}
{{- end }}
containers:
  - name: service
    image: {{ include "monitoring-service.image" . | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy | quote }}
    args: [service]
    securityContext: {{ toYaml $values.securityContext | nindent 6 }}
    env: {{ include "monitoring-service.env" . | nindent 6 }}
    {{- with $values.extraEnvFrom }}
    envFrom: {{ toYaml . | nindent 6 }}
    {{- end }}
    ports:
      - { name: http, containerPort: 4400, protocol: TCP }
    {{- if $values.preStopSeconds }}
    lifecycle:
      preStop:
        exec: { command: [sleep, {{ int $values.preStopSeconds | toString | quote }}] }
    {{- end }}
    {{- /* The port answers after the migrations. The page / needs no database, so an outage of the database restarts nothing. */}}
    startupProbe: {{ include "monitoring-service.probe" (dict "probe" $values.startupProbe "path" "/") | nindent 6 }}
    readinessProbe: {{ include "monitoring-service.probe" (dict "probe" $values.readinessProbe "path" "/health") | nindent 6 }}
    livenessProbe: {{ include "monitoring-service.probe" (dict "probe" $values.livenessProbe "path" "/") | nindent 6 }}
    {{- with $values.resources }}
    resources: {{ toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts: {{ include "monitoring-service.volumeMounts" . | nindent 6 }}
volumes: {{ include "monitoring-service.volumes" . | nindent 2 }}
{{- end -}}
