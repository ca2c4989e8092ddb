{{/*
Checks values that need or exclude each other, for which the schema has no helpful messages. Called once, from the first
manifest. Fails with one line that names the value and the remedy.
*/}}
{{- define "monitoring-service.validate" -}}
{{- $values := .Values -}}
{{- if not $values.database.existingSecret -}}
{{- fail "database.existingSecret is missing: name a Secret with the URL of a PostgreSQL server (postgres://…)" -}}
{{- end -}}
{{- if not $values.keys.existingSecret -}}
{{- fail "keys.existingSecret is missing: name a Secret with encryption-key, api-key and location-key" -}}
{{- end -}}
{{- if not $values.image.repository -}}
{{- fail "image.repository is empty: set it to the image with all check types" -}}
{{- end -}}
{{- $artifacts := $values.artifacts -}}
{{- if $artifacts.bucket -}}
{{- if not $artifacts.existingSecret -}}
{{- fail "artifacts.existingSecret is missing: name a Secret with the access keys of artifacts.bucket" -}}
{{- end -}}
{{- if not (or $artifacts.region $artifacts.endpoint) -}}
{{- fail "artifacts.bucket needs artifacts.region, or artifacts.endpoint for another S3-compatible store" -}}
{{- end -}}
{{- else -}}
{{- if or $artifacts.existingSecret $artifacts.region $artifacts.endpoint -}}
{{- fail "artifacts.bucket is missing: set it to s3://<bucket>/<prefix>, or remove the other values of artifacts" -}}
{{- end -}}
{{- if and (gt (int $values.replicas) 1) (not $values.data.existingClaim) -}}
{{- fail "replicas: more than one needs artifacts.bucket, or a claim in data.existingClaim that all replicas share (ReadWriteMany)" -}}
{{- end -}}
{{- end -}}
{{- $settings := $values.settings -}}
{{- if gt (int $settings.artifactRetentionDays) (int $settings.retentionDays) -}}
{{- fail "settings.artifactRetentionDays is more than settings.retentionDays; lower it, because files are found by their results" -}}
{{- end -}}
{{- if lt (int $settings.rollupRetentionDays) (int $settings.retentionDays) -}}
{{- fail "settings.rollupRetentionDays is less than settings.retentionDays; raise it, because analytics read the figures first" -}}
{{- end -}}
{{- if and $values.ingress.enabled (not $values.ingress.host) -}}
{{- fail "ingress.host is missing: set it to the host name of the service" -}}
{{- end -}}
{{- if and $values.mail.existingSecret (not $values.mail.from) -}}
{{- fail "mail.from is missing: set it to the sender address of mails" -}}
{{- end -}}
{{- if and $values.metrics.serviceMonitor.enabled (not $values.metrics.serviceMonitor.existingSecret) -}}
{{- fail "metrics.serviceMonitor.existingSecret is missing: name a Secret with an API key that may read" -}}
{{- end -}}
{{- $rolling := $values.strategy.rollingUpdate -}}
{{- if and (eq $values.strategy.type "RollingUpdate") $rolling -}}
{{- if and (has (toString $rolling.maxSurge) (list "0" "0%")) (has (toString $rolling.maxUnavailable) (list "0" "0%")) -}}
{{- fail "strategy.rollingUpdate: maxSurge and maxUnavailable are both 0, so no replica can be replaced; raise one of them" -}}
{{- end -}}
{{- end -}}
{{- range $volume := $values.extraVolumes -}}
{{- if has $volume.name (list "data" "tmp" "database" "keys" "mail" "bucket" "ca") -}}
{{- fail (printf "extraVolumes: %s is the name of a volume of the chart; use another name" $volume.name) -}}
{{- end -}}
{{- end -}}
{{- $own := list "SERVICE_HOST" "SERVICE_PORT" "SERVICE_PUBLIC_URL" "SERVICE_AGENT_IMAGE" "SERVICE_DATA_DIR" "DATABASE_URL" "SERVICE_ENCRYPTION_KEY"
  "SERVICE_API_KEY" "SERVICE_LOCATION_KEY" "SERVICE_LOCATION_SLUG" "LOG_LEVEL" "LOG_FORMAT" "NOTIFICATION_PRIVATE_TARGETS"
  "SERVICE_RATE_LIMIT" "SERVICE_PUBLIC_RATE_LIMIT" "SERVICE_TRUSTED_PROXIES" "SERVICE_ASSIGNMENTS" "SERVICE_RETENTION_DAYS"
  "SERVICE_ARTIFACT_RETENTION_DAYS" "SERVICE_RESULT_FILES_AFTER_DAYS" "SERVICE_ROLLUP_RETENTION_DAYS" "SMTP_URL" "SMTP_FROM"
  "SERVICE_ARTIFACT_STORE"
  "S3_ENDPOINT" "S3_REGION" "S3_ACCESS_KEY_ID" "S3_SECRET_ACCESS_KEY" "S3_FORCE_PATH_STYLE" "S3_PRESIGNED_DOWNLOADS"
  "NODE_EXTRA_CA_CERTS" -}}
{{- range $variable := $values.extraEnv -}}
{{- if has (trimSuffix "_FILE" $variable.name) $own -}}
{{- fail (printf "extraEnv: %s is set by a value of its own; see the chart's README" $variable.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
