{{/* Of a Service, too: no dots, and a letter first. */}}
{{- define "millpond.name" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if regexMatch "^[0-9]" $release }}{{ $release = printf "%s-%s" .Chart.Name $release }}{{ end -}}
{{- $name := ternary $release (printf "%s-%s" $release .Chart.Name) (contains .Chart.Name $release) -}}
{{ $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Labels of one part: dict "part" "server" "root" $ */}}
{{- define "millpond.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "millpond.selector" . }}
{{- end }}

{{- define "millpond.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "millpond.image" -}}
{{- $repository := .Values.image.repository -}}
{{- with .Values.global.imageRegistry -}}
{{- $parts := splitList "/" $repository -}}
{{- $first := first $parts -}}
{{- if or (contains "." $first) (contains ":" $first) (eq $first "localhost") }}{{ $parts = rest $parts }}{{ end -}}
{{- $repository = printf "%s/%s" . (join "/" $parts) -}}
{{- end -}}
{{ printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}

{{- define "millpond.pullSecrets" -}}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where the pods of one part go: dict "of" .Values.server "part" "server" "root" $ */}}
{{- define "millpond.scheduling" -}}
{{- $selector := .of.nodeSelector | default dict -}}
{{- with .root.Values.global.node }}{{ $selector = merge (dict "kubernetes.io/hostname" .) $selector }}{{ end -}}
{{- with $selector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- if .of.affinity }}
affinity: {{- toYaml .of.affinity | nindent 2 }}
{{- else if gt (int .of.replicas) 1 }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "millpond.selector" . | nindent 14 }}
{{- end }}
{{- end }}

{{- define "millpond.secret" -}}
{{ .Values.server.existingSecret | default (include "millpond.name" .) }}
{{- end }}

{{/* Whether the server keeps its database or its lake on a claim of its own. */}}
{{- define "millpond.embedded" -}}
{{- if not (and (or .Values.database.url .Values.database.existingSecret) .Values.lake.url) }}yes{{ end }}
{{- end }}

{{- define "millpond.publicUrl" -}}
{{- if .Values.server.publicUrl -}}
{{ .Values.server.publicUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.host -}}
{{ if .Values.ingress.tls }}https{{ else }}http{{ end }}://{{ .Values.ingress.host }}
{{- else if .Values.global.external_ip -}}
http://{{ .Values.global.external_ip }}{{ if ne (int .Values.server.service.port) 80 }}:{{ .Values.server.service.port }}{{ end }}
{{- end -}}
{{- end }}

{{- define "millpond.contentUrl" -}}
{{- if .Values.server.contentUrl -}}
{{ .Values.server.contentUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.appsHost -}}
{{ if .Values.ingress.tls }}https{{ else }}http{{ end }}://{{ .Values.ingress.appsHost }}
{{- end -}}
{{- end }}

{{- define "millpond.serverUrl" -}}
{{- if .Values.agent.serverUrl -}}
{{ .Values.agent.serverUrl }}
{{- else -}}
http://{{ include "millpond.name" . }}.{{ .Release.Namespace }}.svc:{{ .Values.server.service.port }}
{{- end -}}
{{- end }}

{{/* What keeps a pod in its place. */}}
{{- define "millpond.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "millpond.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Of containers that prepare a pod: enough to be admitted where every container must have limits. */}}
{{- define "millpond.smallResources" -}}
requests: {cpu: 10m, memory: 32Mi}
limits: {memory: 128Mi}
{{- end }}

{{/* The one container that is root, where storage ignores fsGroup: dict "path" "/data" "volume" "data" "root" $ */}}
{{- define "millpond.fixPermissions" -}}
- name: permissions
  image: {{ include "millpond.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command: [chown, "10001:10001", {{ .path | quote }}]
  securityContext:
    runAsUser: 0
    runAsNonRoot: false
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL], add: [CHOWN]}
  resources: {{- include "millpond.smallResources" . | nindent 4 }}
  volumeMounts:
    - {name: {{ .volume }}, mountPath: {{ .path | quote }}}
{{- end }}
