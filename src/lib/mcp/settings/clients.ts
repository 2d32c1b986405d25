import { keyVariable } from '../../auth/api-key-config.ts'
import { agentClients } from './agent-clients.ts'
import type { Client, ClientFile } from './client.ts'
import { homeFile, namedFile, projectFile, settingsFile } from './client-files.ts'
import {
  bridgeEntry,
  expansions,
  headerWords,
  httpEntry,
  keyInEnvironment,
  needsVariable,
} from './entries.ts'

const { braces, prefix } = expansions

const claudeCode: Client = {
  id: 'claude-code',
  title: 'Claude Code',
  format: 'json',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.mcp.json')
      : homeFile(place, ['.claude.json'], {
          variable: 'CLAUDE_CONFIG_DIR',
          names: ['.claude.json'],
        }),
  // Programs it starts inherit its environment, with the key.
  entry: settings =>
    settings.bridge === null
      ? httpEntry(settings, { type: 'http' }, braces)
      : { type: 'stdio', ...bridgeEntry(settings.bridge) },
  commands(settings, scope) {
    const { name, url, bridge } = settings
    const add = ['claude', 'mcp', 'add', '--scope', scope]
    if (bridge !== null) return [[...add, name, '--', ...bridge]]
    return [[...add, '--transport', 'http', name, url, ...headerWords(settings, braces)]]
  },
  projectNote: 'Claude Code asks once before it uses a server of .mcp.json.',
}

const claudeDesktop: Client = {
  id: 'claude-desktop',
  title: 'Claude Desktop',
  format: 'jsonc',
  section: 'mcpServers',
  stdioOnly: true,
  file: (scope, place) =>
    scope === 'user' && ['darwin', 'win32'].includes(place.platform)
      ? settingsFile(place, 'Claude', 'claude_desktop_config.json')
      : null,
  entry: ({ bridge }) => bridgeEntry(bridge ?? []),
  commands: () => [],
  note: 'Claude Desktop reads the file when it starts: restart it.',
  keyNotes: () => ['It passes no variables on: give the key with --api-key-file.'],
}

const cursor: Client = {
  id: 'cursor',
  title: 'Cursor',
  format: 'jsonc',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.cursor', 'mcp.json')
      : homeFile(place, ['.cursor', 'mcp.json']),
  entry: settings =>
    settings.bridge === null
      ? httpEntry(settings, {}, prefix)
      : { ...bridgeEntry(settings.bridge), ...keyInEnvironment(settings, prefix) },
  commands: () => [],
}

const vscode: Client = {
  id: 'vscode',
  title: 'VS Code',
  format: 'jsonc',
  section: 'servers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.vscode', 'mcp.json')
      : settingsFile(place, 'Code', 'User', 'mcp.json'),
  entry(settings) {
    const answer = `\${input:${inputId(settings)}}`
    if (settings.bridge === null) return httpEntry(settings, { type: 'http' }, answer)
    const started = { type: 'stdio', ...bridgeEntry(settings.bridge) }
    return { ...started, ...keyInEnvironment(settings, answer) }
  },
  input: settings =>
    settings.keyed
      ? {
          type: 'promptString',
          id: inputId(settings),
          description: `API key of ${settings.name}`,
          password: true,
        }
      : null,
  commands: () => [],
  keyNotes: () => ['VS Code asks for the key once and stores it.'],
}

const geminiCli: Client = {
  id: 'gemini-cli',
  title: 'Gemini CLI',
  format: 'jsonc',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.gemini', 'settings.json')
      : homeFile(place, ['.gemini', 'settings.json'], {
          variable: 'GEMINI_CLI_HOME',
          names: ['.gemini', 'settings.json'],
        }),
  // It never reconnects to an HTTP server. Programs it starts inherit a variable that is named like
  // a secret only if the entry lists it.
  stdioOnly: true,
  entry: settings => ({
    ...bridgeEntry(settings.bridge ?? []),
    ...keyInEnvironment(settings, braces),
  }),
  commands: () => [],
  projectNote: 'Gemini CLI reads .gemini/settings.json only in trusted folders.',
}

const codex: Client = {
  id: 'codex',
  title: 'Codex',
  format: 'toml',
  section: 'mcp_servers',
  file: (scope, place) =>
    scope === 'project'
      ? projectFile(place, '.codex', 'config.toml')
      : homeFile(place, ['.codex', 'config.toml'], {
          variable: 'CODEX_HOME',
          names: ['config.toml'],
        }),
  // Programs it starts inherit few variables, plus the listed ones.
  entry: ({ url, bridge, keyed }) =>
    bridge === null
      ? { url, ...(keyed && { bearer_token_env_var: keyVariable }) }
      : { ...bridgeEntry(bridge), ...(keyed && { env_vars: [keyVariable] }) },
  commands({ name, url, bridge, keyed }, scope) {
    const add = ['codex', 'mcp', 'add', name]
    if (scope === 'project' || (bridge !== null && keyed)) return []
    if (bridge !== null) return [[...add, '--', ...bridge]]
    return [[...add, '--url', url, ...(keyed ? ['--bearer-token-env-var', keyVariable] : [])]]
  },
  projectNote: 'Codex reads .codex/config.toml only in trusted projects.',
}

const inspector: Client = {
  id: 'inspector',
  title: 'MCP Inspector',
  format: 'json',
  section: 'mcpServers',
  file: (scope, place) =>
    scope === 'user'
      ? (namedFile(place, 'MCP_CATALOG_PATH') ?? homeFile(place, ['.mcp-inspector', 'mcp.json']))
      : null,
  entry: ({ url, bridge }) =>
    bridge === null ? { type: 'http', url } : { type: 'stdio', ...bridgeEntry(bridge) },
  commands(settings) {
    if (settings.bridge !== null) return []
    const call = ['npx', '@modelcontextprotocol/inspector', '--cli', settings.url]
    const list = ['--transport', 'http', '--method', 'resources/list']
    return [[...call, ...list, ...headerWords(settings, 'YOUR_KEY')]]
  },
  keyNotes: ({ bridge }) => [
    bridge === null
      ? 'The Inspector does not expand variables: pass the key with --header.'
      : 'The Inspector passes no variables on: give the key with --api-key-file.',
  ],
}

const mcporter: Client = {
  id: 'mcporter',
  title: 'mcporter',
  format: 'jsonc',
  section: 'mcpServers',
  file(scope, place) {
    if (scope === 'project') return projectFile(place, 'config', 'mcporter.json')
    const named = namedFile(place, 'MCPORTER_CONFIG')
    if (named !== null) return named
    const inHome = (name: string): ClientFile => homeFile(place, ['.mcporter', name])
    const first = (name: string): ClientFile =>
      homeFile(place, ['.mcporter', name], {
        variable: 'XDG_CONFIG_HOME',
        names: ['mcporter', name],
      })
    const instead = [first('mcporter.jsonc'), inHome('mcporter.json'), inHome('mcporter.jsonc')]
    return { ...first('mcporter.json'), instead }
  },
  entry: settings =>
    settings.bridge === null ? httpEntry(settings, {}, braces) : bridgeEntry(settings.bridge),
  commands: ({ name }) => [['npx', 'mcporter', 'resource', name]],
}

const generic: Client = {
  id: 'generic',
  title: 'other clients',
  format: 'json',
  section: 'mcpServers',
  file: () => null,
  entry: settings =>
    settings.bridge === null
      ? httpEntry(settings, { type: 'http' }, braces)
      : { type: 'stdio', ...bridgeEntry(settings.bridge), ...keyInEnvironment(settings, braces) },
  commands: () => [],
  note: 'Most clients read this form; their documentation names the file.',
  keyNotes: () => [needsVariable('The client'), `Not every client expands ${keyVariable}.`],
}

/** The id of the VS Code prompt that the entry refers to. */
function inputId({ name }: { name: string }): string {
  return `${name}-key`
}

export const clients: readonly Client[] = [
  claudeCode,
  claudeDesktop,
  cursor,
  vscode,
  geminiCli,
  codex,
  inspector,
  mcporter,
  ...agentClients,
  generic,
]
