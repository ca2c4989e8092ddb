{{/* The short name of the program, for labels. */}}
{{- define "location-agent.name" -}}
{{- regexReplaceAll "-+$" (default .Chart.Name .Values.nameOverride | trunc 63) "" -}}
{{- end -}}

{{/*
The prefix of all names. It has at most 45 characters, because "-browser" and KEDA's "keda-hpa-" are added to it. A longer
name is cut and gets a hash of the full name. Helm allows release names with a leading digit or a dot, but Services do not.
*/}}
{{- define "location-agent.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full = default $full .Values.fullnameOverride | replace "." "-" -}}
{{- if regexMatch "^[0-9]" $full -}}{{- $full = printf "agent-%s" $full -}}{{- end -}}
{{- if gt (len $full) 45 -}}
{{- $hash := sha256sum $full | trunc 8 -}}
{{- printf "%s-%s" (regexReplaceAll "-+$" ($full | trunc 36) "") $hash -}}
{{- else -}}
{{- $full -}}
{{- end -}}
{{- end -}}

{{/* Name of a deployment and of its other objects. Takes root and key. */}}
{{- define "location-agent.deploymentName" -}}
{{- $full := include "location-agent.fullname" .root -}}
{{- if eq .key "all" -}}{{- $full -}}{{- else -}}{{- printf "%s-%s" $full .key -}}{{- end -}}
{{- end -}}

{{/* The name label of the pods of `helm test`. */}}
{{- define "location-agent.testName" -}}
{{- printf "%s-test" (regexReplaceAll "-+$" (include "location-agent.name" . | trunc 58) "") -}}
{{- end -}}

{{- define "location-agent.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create -}}
{{- default (ternary (include "location-agent.fullname" .) "default" $own) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Labels that all agents of the release share. They must never change, because a Deployment's selector is immutable. */}}
{{- define "location-agent.releaseSelector" -}}
app.kubernetes.io/name: {{ include "location-agent.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Labels that select the agents of one deployment. Takes root and key. */}}
{{- define "location-agent.selector" -}}
{{ include "location-agent.releaseSelector" .root }}
app.kubernetes.io/component: {{ .key | quote }}
{{- end -}}

{{- define "location-agent.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}
{{ end -}}
{{ include "location-agent.releaseSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{/* The labels above and further ones, which override commonLabels. Takes root and more. */}}
{{- define "location-agent.labelsWith" -}}
{{- $labels := include "location-agent.labels" .root | fromYaml -}}
{{- range $name, $value := .more -}}
{{- $_ := set $labels $name $value -}}
{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* Kubernetes refuses rollingUpdate with the type Recreate, and values.yaml has a default for rollingUpdate. */}}
{{- define "location-agent.strategy" -}}
{{- $strategy := deepCopy .Values.strategy -}}
{{- if eq $strategy.type "Recreate" -}}
{{- $_ := unset $strategy "rollingUpdate" -}}
{{- end -}}
{{- toYaml $strategy -}}
{{- end -}}

{{/*
The settings of a deployment, as YAML: its own values, and the shared value where it has none of its own. A value replaces the
shared one as a whole, except for the image, which is merged. Takes root and key.
*/}}
{{- define "location-agent.settings" -}}
{{- $values := .root.Values -}}
{{- $own := index $values.deployments .key -}}
{{- $shared := pick $values "topologySpreadConstraints" "nodeSelector" "tolerations" "affinity" "priorityClassName"
  "podAnnotations" "podLabels" "extraEnv" "extraEnvFrom" "extraVolumes" "extraVolumeMounts" "seccompLocalhostProfile" -}}
{{- $settings := deepCopy $shared -}}
{{- range $name, $value := $own -}}
{{- $_ := set $settings $name $value -}}
{{- end -}}
{{- $image := deepCopy $values.image -}}
{{- range $name, $value := default dict $own.image -}}
{{- if $value -}}{{- $_ := set $image $name $value -}}{{- end -}}
{{- end -}}
{{- $_ := set $settings "image" $image -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The data of the Secret that the chart creates; empty if it creates none. */}}
{{- define "location-agent.secretData" -}}
{{- $proxy := .Values.proxy -}}
{{- $data := dict -}}
{{- with .Values.apiKey.value }}{{- $_ := set $data "api-key" (b64enc .) }}{{- end -}}
{{- if not $proxy.existingSecret -}}
{{- with $proxy.http }}{{- $_ := set $data "http-proxy" (b64enc .) }}{{- end -}}
{{- with $proxy.https }}{{- $_ := set $data "https-proxy" (b64enc .) }}{{- end -}}
{{- end -}}
{{- if $data }}{{ toYaml $data }}{{ end -}}
{{- end -}}

{{/* The volume source with further certificate authorities (a ConfigMap or Secret); empty if there are none. */}}
{{- define "location-agent.caSource" -}}
{{- $ca := .Values.caBundle -}}
{{- $items := list (dict "key" $ca.key "path" "ca.crt") -}}
{{- if $ca.existingSecret -}}
secret: {{ dict "secretName" $ca.existingSecret "items" $items | toJson }}
{{- else if or $ca.existingConfigMap $ca.pem -}}
{{- $name := default (printf "%s-ca" (include "location-agent.fullname" .)) $ca.existingConfigMap -}}
configMap: {{ dict "name" $name "items" $items | toJson }}
{{- end -}}
{{- end -}}
