import { keyVariable } from '../../auth/api-key-config.ts'
import type { Client, Settings } from './client.ts'
import { homeFile, namedFile, projectFile } from './client-files.ts'
import { bridgeEntry, expansions, headerWords, httpEntry, keyInEnvironment } from './entries.ts'

const { braces, opencode: inBraces, secret } = expansions

/** For clients not documented to expand `${…}` in headers. */
function noVariables(title: string) {
  return ({ bridge }: Settings) => [
    bridge === null
      ? `${title} does not document variables in headers: use --stdio with --api-key-file.`
      : 'Give the key with --api-key-file.',
  ]
}

const opencode: Client = {
  id: 'opencode',
  title: 'opencode',
  format: 'jsonc',
  section: 'mcp',
  file(scope, place) {
    if (scope === 'project') {
      const instead = [projectFile(place, 'opencode.jsonc')]
      return { ...projectFile(place, 'opencode.json'), instead }
    }
    const file = (name: string) =>
      homeFile(place, ['.config', 'opencode', name], {
        variable: 'XDG_CONFIG_HOME',
        names: ['opencode', name],
      })
    return { ...file('opencode.jsonc'), instead: [file('opencode.json')] }
  },
  entry(settings) {
    if (settings.bridge === null) return httpEntry(settings, { type: 'remote' }, inBraces)
    const environment = { environment: { [keyVariable]: inBraces } }
    return { type: 'local', command: settings.bridge, ...(settings.keyed && environment) }
  },
  commands: () => [],
}

const qwenCode: Client = {
  id: 'qwen-code',
  title: 'Qwen Code',
  format: 'jsonc',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.qwen', 'settings.json')
      : homeFile(place, ['.qwen', 'settings.json']),
  // `url` would select the HTTP+SSE transport of 2024-11-05.
  entry(settings) {
    if (settings.bridge !== null) {
      return { ...bridgeEntry(settings.bridge), ...keyInEnvironment(settings, braces) }
    }
    const { url: httpUrl, ...rest } = httpEntry(settings, {}, braces)
    return { httpUrl, ...rest }
  },
  commands(settings, scope) {
    const { name, url, bridge } = settings
    if (bridge !== null) return []
    const add = ['qwen', 'mcp', 'add', '--scope', scope, '--transport', 'http', name, url]
    return [[...add, ...headerWords(settings, braces)]]
  },
}

const copilotCli: Client = {
  id: 'copilot-cli',
  title: 'Copilot CLI',
  format: 'json',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.github', 'mcp.json')
      : homeFile(place, ['.copilot', 'mcp-config.json'], {
          variable: 'COPILOT_HOME',
          names: ['mcp-config.json'],
        }),
  entry(settings) {
    const tools = { tools: ['*'] }
    if (settings.bridge === null)
      return { ...httpEntry(settings, { type: 'http' }, braces), ...tools }
    const started = { type: 'local', ...bridgeEntry(settings.bridge), ...tools }
    return { ...started, ...keyInEnvironment(settings, braces) }
  },
  commands(settings, scope) {
    const { name, url, bridge, keyed } = settings
    const add = ['copilot', 'mcp', 'add']
    if (scope === 'project') return []
    if (bridge === null) {
      return [[...add, '--transport', 'http', ...headerWords(settings, braces), name, url]]
    }
    return [
      [...add, ...(keyed ? ['--env', `${keyVariable}=${braces}`] : []), name, '--', ...bridge],
    ]
  },
}

const cline: Client = {
  id: 'cline',
  title: 'Cline',
  format: 'json',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'user'
      ? (namedFile(place, 'CLINE_MCP_SETTINGS_PATH') ??
        homeFile(place, ['.cline', 'data', 'settings', 'cline_mcp_settings.json']))
      : null,
  entry: ({ url, bridge }) =>
    bridge === null ? { type: 'streamableHttp', url } : { type: 'stdio', ...bridgeEntry(bridge) },
  commands: () => [],
  note: 'In an editor: MCP Servers, Configure, Configure MCP Servers opens the right file.',
  keyNotes: noVariables('Cline'),
}

const continueDev: Client = {
  id: 'continue',
  title: 'Continue',
  format: 'yaml-list',
  section: 'mcpServers',
  file: () => null,
  entry(settings) {
    const { name, url, bridge, keyed } = settings
    if (bridge !== null) {
      return { name, type: 'stdio', ...bridgeEntry(bridge), ...keyInEnvironment(settings, secret) }
    }
    const requestOptions = { headers: { Authorization: `Bearer ${secret}` } }
    return { name, type: 'streamable-http', url, ...(keyed && { requestOptions }) }
  },
  commands: () => [],
  note: 'Continue reads ~/.continue/config.yaml.',
  keyNotes: () => [],
}

const goose: Client = {
  id: 'goose',
  title: 'Goose',
  format: 'yaml',
  section: 'extensions',
  file: () => null,
  entry({ name, url, bridge, keyed }) {
    const common = { enabled: true, name, description: 'service-cli', timeout: 300 }
    const key = keyed ? { env_keys: [keyVariable] } : {}
    if (bridge === null) {
      const headers = { headers: { Authorization: `Bearer ${braces}` } }
      return { ...common, type: 'streamable_http', uri: url, ...(keyed && headers), ...key }
    }
    const { command: cmd, args } = bridgeEntry(bridge)
    return { ...common, type: 'stdio', cmd, args, ...key }
  },
  commands: () => [],
  note: 'Goose reads ~/.config/goose/config.yaml, on Windows %APPDATA%\\Block\\goose\\config\\config.yaml.',
}

const amp: Client = {
  id: 'amp',
  title: 'Amp',
  format: 'jsonc',
  section: 'amp.mcpServers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.amp', 'settings.json')
      : homeFile(place, ['.config', 'amp', 'settings.json'], {
          variable: 'XDG_CONFIG_HOME',
          names: ['amp', 'settings.json'],
        }),
  entry: ({ url, bridge }) => (bridge === null ? { url } : bridgeEntry(bridge)),
  commands({ name, url, bridge, keyed }, scope) {
    if (keyed) return []
    const add = ['amp', 'mcp', 'add', name, ...(scope === 'project' ? ['--workspace'] : [])]
    return [bridge === null ? [...add, url] : [...add, '--', ...bridge]]
  },
  keyNotes: noVariables('Amp'),
}

/** Agents and editors with one settings format each. */
export const agentClients: readonly Client[] = [
  opencode,
  qwenCode,
  copilotCli,
  cline,
  continueDev,
  goose,
  amp,
]
