import { expect } from 'chai'
import { resolve } from 'node:path'
import { type Client, clients, type Scope } from '../../../../src/lib/mcp/settings/clients.ts'
import { makeEntry } from '../../../../src/lib/mcp/settings/entry.ts'
import { type Place, settingsPaths } from '../../../../src/lib/mcp/settings/settings-file.ts'

const url = 'http://127.0.0.1:8765/mcp'
const bridge = ['/bin/node', '/x/run.js', 'connect', 'blender']
const started = { command: '/bin/node', args: ['/x/run.js', 'connect', 'blender'] }

const linux: Place = { platform: 'linux', env: {}, home: '/home/a' }
const mac: Place = { platform: 'darwin', env: {}, home: '/Users/a' }
const windows: Place = { platform: 'win32', env: { APPDATA: '/d/Roaming' }, home: '/c/Users/a' }

function client(id: string): Client {
  const found = clients.find(each => each.id === id)
  if (found === undefined) throw new Error(`no client ${id}`)
  return found
}

function make(
  id: string,
  given: { keyed?: boolean; bridge?: string[] | null } = {},
  scope: Scope = 'user',
) {
  const { keyed = false, bridge: words = null } = given
  return makeEntry(client(id), { name: 'blender', url, keyed, bridge: words, scope })
}

const bearer = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } })
const braces = '${SERVICE_MCP_API_KEY}'

describe('the entry of', () => {
  /** Null for a form that the client is never given. */
  type Row = [
    id: string,
    http: object | null,
    keyed: object | null,
    stdio: object,
    keyedStdio: object | null,
  ]
  const env = (key: string) => ({ env: { SERVICE_MCP_API_KEY: key } })
  const web = { type: 'http', url }
  const own = { type: 'stdio', ...started }
  const prefixed = '${env:SERVICE_MCP_API_KEY}'
  const asked = '${input:blender-key}'
  const secret = '${{ secrets.SERVICE_MCP_API_KEY }}'
  const inBraces = '{env:SERVICE_MCP_API_KEY}'
  const rows: Row[] = [
    ['claude-code', web, { ...web, ...bearer(braces) }, own, own],
    ['claude-desktop', null, null, started, null],
    ['cursor', { url }, { url, ...bearer(prefixed) }, started, { ...started, ...env(prefixed) }],
    ['vscode', web, { ...web, ...bearer(asked) }, own, { ...own, ...env(asked) }],
    ['gemini-cli', null, null, started, { ...started, ...env(braces) }],
    [
      'codex',
      { url },
      { url, bearer_token_env_var: 'SERVICE_MCP_API_KEY' },
      started,
      { ...started, env_vars: ['SERVICE_MCP_API_KEY'] },
    ],
    [
      'opencode',
      { type: 'remote', url },
      { type: 'remote', url, ...bearer(inBraces) },
      { type: 'local', command: bridge },
      { type: 'local', command: bridge, environment: env(inBraces).env },
    ],
    [
      'qwen-code',
      { httpUrl: url },
      { httpUrl: url, ...bearer(braces) },
      started,
      { ...started, ...env(braces) },
    ],
    [
      'copilot-cli',
      { ...web, tools: ['*'] },
      { ...web, ...bearer(braces), tools: ['*'] },
      { type: 'local', ...started, tools: ['*'] },
      { type: 'local', ...started, tools: ['*'], ...env(braces) },
    ],
    ['cline', null, null, own, null],
    [
      'continue',
      null,
      null,
      { name: 'blender', ...own },
      { name: 'blender', ...own, ...env(secret) },
    ],
    ['amp', { url }, null, started, null],
    ['generic', web, { ...web, ...bearer(braces) }, own, { ...own, ...env(braces) }],
  ]
  for (const [id, http, keyed, stdio, keyedStdio] of rows) {
    it(`${id} says how it is reached, with a key and without`, () => {
      expect(client(id).http !== undefined, 'has HTTP').to.equal(http !== null)
      expect(client(id).key !== undefined, 'has a key').to.equal(keyedStdio !== null)
      if (http !== null) expect(make(id).entry, 'http').to.deep.equal(http)
      if (keyed !== null) expect(make(id, { keyed: true }).entry, 'keyed').to.deep.equal(keyed)
      expect(make(id, { bridge }).entry, 'stdio').to.deep.equal(stdio)
      if (keyedStdio === null) return
      expect(make(id, { bridge, keyed: true }).entry, 'keyed stdio').to.deep.equal(keyedStdio)
    })
  }

  it('every client is in this table', () => {
    expect(rows.map(([id]) => id)).to.have.members(clients.map(({ id }) => id))
  })
})

describe('the settings file of', () => {
  type Row = [id: string, place: Place, user: string | null, project: string | null]
  const rows: Row[] = [
    ['claude-code', linux, '/home/a/.claude.json', '.mcp.json'],
    ['claude-desktop', linux, null, null],
    [
      'claude-desktop',
      mac,
      '/Users/a/Library/Application Support/Claude/claude_desktop_config.json',
      null,
    ],
    ['claude-desktop', windows, '/d/Roaming/Claude/claude_desktop_config.json', null],
    ['cursor', linux, '/home/a/.cursor/mcp.json', '.cursor/mcp.json'],
    ['vscode', linux, '/home/a/.config/Code/User/mcp.json', '.vscode/mcp.json'],
    ['vscode', windows, '/d/Roaming/Code/User/mcp.json', '.vscode/mcp.json'],
    ['opencode', linux, '/home/a/.config/opencode/opencode.jsonc', 'opencode.json'],
    ['qwen-code', linux, '/home/a/.qwen/settings.json', '.qwen/settings.json'],
    ['copilot-cli', linux, '/home/a/.copilot/mcp-config.json', '.github/mcp.json'],
    ['cline', linux, '/home/a/.cline/data/settings/cline_mcp_settings.json', null],
    ['continue', linux, '/home/a/.continue/config.yaml', null],
    ['amp', linux, '/home/a/.config/amp/settings.json', '.amp/settings.json'],
    ['generic', linux, null, null],
  ]
  for (const [id, place, user, project] of rows) {
    it(`${id} is where its maker says on ${place.platform}`, () => {
      const path = (scope: Scope) => settingsPaths(client(id), scope, place)[0] ?? null
      expect(path('user')).to.equal(user)
      expect(path('project')).to.equal(project && resolve(project))
    })
  }

  const moved: [id: string, variable: string, value: string, path: string][] = [
    ['claude-code', 'CLAUDE_CONFIG_DIR', '/c', '/c/.claude.json'],
    ['gemini-cli', 'GEMINI_CLI_HOME', '/g', '/g/.gemini/settings.json'],
    ['codex', 'CODEX_HOME', '/x', '/x/config.toml'],
    ['copilot-cli', 'COPILOT_HOME', '/c', '/c/mcp-config.json'],
    ['cline', 'CLINE_MCP_SETTINGS_PATH', '/c/mcp.json', '/c/mcp.json'],
  ]
  for (const [id, variable, value, path] of moved) {
    it(`${id} follows ${variable}, unless it is relative`, () => {
      const at = (env: Record<string, string>) =>
        settingsPaths(client(id), 'user', { ...linux, env })[0]
      expect(at({ [variable]: value })).to.equal(path)
      expect(at({ [variable]: 'relative' })).to.equal(at({}))
    })
  }
})

it('the commands of Codex and Claude Code are theirs; Codex has none for a project', () => {
  const line = (...made: Parameters<typeof make>) => make(...made).own?.join(' ') ?? null
  const run = bridge.join(' ')
  const add = 'claude mcp add --scope'
  expect(line('claude-code', { keyed: true }, 'project')).to.equal(
    `${add} project --transport http blender ${url} --header Authorization: Bearer ${braces}`,
  )
  expect(line('claude-code', { bridge })).to.equal(`${add} user blender -- ${run}`)
  const keyed = '--bearer-token-env-var SERVICE_MCP_API_KEY'
  expect(line('codex', { keyed: true })).to.equal(`codex mcp add blender --url ${url} ${keyed}`)
  expect(line('codex', { bridge })).to.equal(`codex mcp add blender -- ${run}`)
  // It could hand the variable on only with the key itself on the command line.
  expect(line('codex', { bridge, keyed: true })).to.equal(null)
  expect(line('codex', {}, 'project')).to.equal(null)
})
