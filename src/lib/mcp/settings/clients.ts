import { keyVariable } from '../../auth/api-key-config.ts'
import type { JsonObject } from '../../util/json.ts'

export const scopes = ['user', 'project'] as const
/** All projects of the user, or the working folder. */
export type Scope = (typeof scopes)[number]

/** What an entry is made of. */
export interface EntryFacts {
  readonly name: string
  /** The MCP endpoint. */
  readonly url: string
  readonly scope: Scope
  /** The client holds the key of the server in its environment. */
  readonly keyed: boolean
  /** The command line that the client starts; null when it uses HTTP. */
  readonly bridge: readonly string[] | null
  readonly command: string
  readonly args: readonly string[]
  /** The header that refers to the key; undefined without a key. */
  readonly headers?: { readonly Authorization: string }
  /** The variable of the bridge that refers to the key; undefined without a key. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Paths of a file, the preferred one first. `~` is the home folder, other paths begin in the working
 * folder. `${VARIABLE:-default}` is the absolute path that a variable has, or the default.
 */
type Paths = readonly string[]

interface ClientRow {
  readonly title: string
  /**
   * `json` when the client rejects comments. TOML and YAML are printed and never written; in YAML
   * the entries form a list and contain their names.
   */
  readonly format: 'json' | 'jsonc' | 'toml' | 'yaml'
  /** The member that holds the entries by name. Default: `mcpServers`. */
  readonly section?: string
  /** The file for all projects; by platform where it differs. */
  readonly user?: Paths | Partial<Record<NodeJS.Platform, Paths>>
  /** The file of a project. */
  readonly project?: Paths
  /** How an entry refers to the key, NAME being its name; missing when it cannot. */
  readonly key?: string
  /** Missing for a client that cannot use HTTP, or does not reconnect: it starts the bridge. */
  http?(facts: EntryFacts): JsonObject
  /** Default: `command`, `args` and `env`. */
  stdio?(facts: EntryFacts): JsonObject
  /** A question for the key, for the list `inputs`. */
  input?(name: string): JsonObject
  /** The client's own command that adds the entry; null when it has none for this one. */
  own?(facts: EntryFacts): readonly string[] | null
  readonly note?: string
  /** Said of an entry with a key. Default: the variable must be in the client's environment. */
  readonly keyNote?: string
}

const inBraces = `\${${keyVariable}}`
/** The folder of desktop programs on Windows. */
const appData = '${APPDATA:-~/AppData/Roaming}'

const rows: Readonly<Record<string, ClientRow>> = {
  'claude-code': {
    title: 'Claude Code',
    format: 'json',
    user: ['${CLAUDE_CONFIG_DIR:-~}/.claude.json'],
    project: ['.mcp.json'],
    key: inBraces,
    http: ({ url, headers }) => ({ type: 'http', url, headers }),
    // What it starts inherits its environment, with the key.
    stdio: ({ command, args }) => ({ type: 'stdio', command, args }),
    own({ name, url, scope, bridge, headers }) {
      const add = ['claude', 'mcp', 'add', '--scope', scope]
      if (bridge !== null) return [...add, name, '--', ...bridge]
      const header = headers ? ['--header', `Authorization: ${headers.Authorization}`] : []
      return [...add, '--transport', 'http', name, url, ...header]
    },
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    format: 'json',
    user: {
      darwin: ['~/Library/Application Support/Claude/claude_desktop_config.json'],
      win32: [`${appData}/Claude/claude_desktop_config.json`],
    },
    note: 'Claude Desktop reads the file when it starts: restart it.',
  },
  cursor: {
    title: 'Cursor',
    format: 'jsonc',
    user: ['~/.cursor/mcp.json'],
    project: ['.cursor/mcp.json'],
    key: `\${env:${keyVariable}}`,
    http: ({ url, headers }) => ({ url, headers }),
  },
  vscode: {
    title: 'VS Code',
    format: 'jsonc',
    section: 'servers',
    user: {
      linux: ['${XDG_CONFIG_HOME:-~/.config}/Code/User/mcp.json'],
      darwin: ['~/Library/Application Support/Code/User/mcp.json'],
      win32: [`${appData}/Code/User/mcp.json`],
    },
    project: ['.vscode/mcp.json'],
    key: '${input:NAME-key}',
    http: ({ url, headers }) => ({ type: 'http', url, headers }),
    stdio: ({ command, args, env }) => ({ type: 'stdio', command, args, env }),
    input: name => ({
      type: 'promptString',
      id: `${name}-key`,
      description: `API key of ${name}`,
      password: true,
    }),
    keyNote: 'VS Code asks for the key once and stores it.',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    format: 'jsonc',
    user: ['${GEMINI_CLI_HOME:-~}/.gemini/settings.json'],
    project: ['.gemini/settings.json'],
    key: inBraces,
    // It never reconnects to an HTTP server. What it starts inherits a variable that is named like a
    // secret only if the entry lists it.
    note: 'Gemini CLI switches all MCP servers off in a folder that is not trusted: trust the folder when it asks.',
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    section: 'mcp_servers',
    user: ['${CODEX_HOME:-~/.codex}/config.toml'],
    project: ['.codex/config.toml'],
    key: inBraces,
    http: ({ url, keyed }) => ({ url, bearer_token_env_var: keyed ? keyVariable : undefined }),
    // What it starts inherits few variables, and those that are listed.
    stdio: ({ command, args, keyed }) => ({
      command,
      args,
      env_vars: keyed ? [keyVariable] : undefined,
    }),
    own({ name, url, scope, bridge, keyed }) {
      const add = ['codex', 'mcp', 'add', name]
      if (scope === 'project' || (bridge !== null && keyed)) return null
      if (bridge !== null) return [...add, '--', ...bridge]
      return [...add, '--url', url, ...(keyed ? ['--bearer-token-env-var', keyVariable] : [])]
    },
  },
  opencode: {
    title: 'opencode',
    format: 'jsonc',
    section: 'mcp',
    user: [
      '${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc',
      '${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json',
    ],
    project: ['opencode.json', 'opencode.jsonc'],
    key: `{env:${keyVariable}}`,
    http: ({ url, headers }) => ({ type: 'remote', url, headers }),
    stdio: ({ bridge, env }) => ({ type: 'local', command: bridge, environment: env }),
  },
  'qwen-code': {
    title: 'Qwen Code',
    format: 'jsonc',
    user: ['~/.qwen/settings.json'],
    project: ['.qwen/settings.json'],
    key: inBraces,
    // `url` would select the HTTP+SSE transport of 2024-11-05.
    http: ({ url, headers }) => ({ httpUrl: url, headers }),
  },
  'copilot-cli': {
    title: 'Copilot CLI',
    format: 'json',
    user: ['${COPILOT_HOME:-~/.copilot}/mcp-config.json'],
    project: ['.github/mcp.json'],
    key: inBraces,
    http: ({ url, headers }) => ({ type: 'http', url, headers, tools: ['*'] }),
    stdio: ({ command, args, env }) => ({ type: 'local', command, args, tools: ['*'], env }),
  },
  cline: {
    title: 'Cline',
    format: 'json',
    user: ['${CLINE_MCP_SETTINGS_PATH:-~/.cline/data/settings/cline_mcp_settings.json}'],
    stdio: ({ command, args }) => ({ type: 'stdio', command, args }),
    note: 'In an editor: MCP Servers, Configure, Configure MCP Servers opens the right file.',
  },
  continue: {
    title: 'Continue',
    format: 'yaml',
    user: ['~/.continue/config.yaml'],
    key: `\${{ secrets.${keyVariable} }}`,
    stdio: ({ name, command, args, env }) => ({ name, type: 'stdio', command, args, env }),
    keyNote: `Continue needs ${keyVariable} among its secrets.`,
  },
  amp: {
    title: 'Amp',
    format: 'jsonc',
    section: 'amp.mcpServers',
    user: ['${XDG_CONFIG_HOME:-~/.config}/amp/settings.json'],
    project: ['.amp/settings.json'],
    http: ({ url }) => ({ url }),
  },
  generic: {
    title: 'other clients',
    format: 'json',
    key: inBraces,
    http: ({ url, headers }) => ({ type: 'http', url, headers }),
    stdio: ({ command, args, env }) => ({ type: 'stdio', command, args, env }),
    note: 'Most clients read this form; their documentation names the file.',
    keyNote: `The client needs ${keyVariable} in its environment, and not every client expands variables.`,
  },
}

/** An AI client and the format of its settings. */
export type Client = (typeof clients)[number]

export const clients = Object.entries(rows).map(([id, row]) => ({
  id,
  section: 'mcpServers',
  ...row,
}))
