{{/* The short name of the program, for labels. */}}
{{- define "monitoring-service.name" -}}
{{- regexReplaceAll "-+$" (default .Chart.Name .Values.nameOverride | trunc 63) "" -}}
{{- end -}}

{{/*
The prefix of all names. It has at most 45 characters, because "-test" and the like are added to it. A longer name is cut and
gets a hash of the full name. Helm allows release names with a leading digit or a dot, but Services do not.
*/}}
{{- define "monitoring-service.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full = default $full .Values.fullnameOverride | replace "." "-" -}}
{{- if regexMatch "^[0-9]" $full -}}{{- $full = printf "service-%s" $full -}}{{- end -}}
{{- if gt (len $full) 45 -}}
{{- $hash := sha256sum $full | trunc 8 -}}
{{- printf "%s-%s" (regexReplaceAll "-+$" ($full | trunc 36) "") $hash -}}
{{- else -}}
{{- $full -}}
{{- end -}}
{{- end -}}

{{- define "monitoring-service.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create -}}
{{- default (ternary (include "monitoring-service.fullname" .) "default" $own) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Labels that select the replicas. They must never change, because a Deployment's selector is immutable. */}}
{{- define "monitoring-service.selector" -}}
app.kubernetes.io/name: {{ include "monitoring-service.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: service
{{- end -}}

{{/* Labels of all objects. Takes root, component and more, whose labels override commonLabels. */}}
{{- define "monitoring-service.labels" -}}
{{- $root := .root -}}
{{- $labels := deepCopy $root.Values.commonLabels -}}
{{- range $name, $value := default dict .more -}}
{{- $_ := set $labels $name $value -}}
{{- end -}}
{{- $_ := set $labels "app.kubernetes.io/name" (include "monitoring-service.name" $root) -}}
{{- $_ := set $labels "app.kubernetes.io/instance" $root.Release.Name -}}
{{- $_ := set $labels "app.kubernetes.io/component" (default "service" .component) -}}
{{- $_ := set $labels "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- toYaml $labels -}}
{{- end -}}

{{- define "monitoring-service.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Address at which others reach the service; empty = not known. */}}
{{- define "monitoring-service.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{- .Values.publicUrl -}}
{{- else if and .Values.ingress.enabled .Values.ingress.host -}}
{{- printf "%s://%s" (ternary "https" "http" (not (empty .Values.ingress.tlsSecret))) .Values.ingress.host -}}
{{- end -}}
{{- end -}}

{{/* Kubernetes refuses rollingUpdate with the type Recreate, and values.yaml has a default for rollingUpdate. */}}
{{- define "monitoring-service.strategy" -}}
{{- $strategy := deepCopy .Values.strategy -}}
{{- if eq $strategy.type "Recreate" -}}
{{- $_ := unset $strategy "rollingUpdate" -}}
{{- end -}}
{{- toYaml $strategy -}}
{{- end -}}
