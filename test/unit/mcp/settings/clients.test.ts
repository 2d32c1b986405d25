import { expect } from 'chai'
import { addressOf } from '../../../../src/lib/mcp/settings/decide-entry.ts'
import type { Client, Place, Scope, Settings } from '../../../../src/lib/mcp/settings/client.ts'
import { clients } from '../../../../src/lib/mcp/settings/clients.ts'
import { notesOf } from '../../../../src/lib/mcp/settings/entries.ts'

const url = 'http://127.0.0.1:8765/mcp'
const bridge = ['/bin/node', '/x/run.js', 'connect', 'blender']
const started = { command: '/bin/node', args: ['/x/run.js', 'connect', 'blender'] }

const linux: Place = { platform: 'linux', env: {}, home: '/home/a', cwd: '/projects/shot' }
const mac: Place = { platform: 'darwin', env: {}, home: '/Users/a', cwd: '/projects/shot' }
const windows: Place = {
  platform: 'win32',
  env: { APPDATA: 'D:\\Roaming' },
  home: 'C:\\Users\\a',
  cwd: 'C:\\shot',
}

function client(id: string): Client {
  const found = clients.find(each => each.id === id)
  if (found === undefined) throw new Error(`no client ${id}`)
  return found
}

function settings(parts: Partial<Settings> = {}): Settings {
  return { name: 'blender', url, keyed: false, bridge: null, ...parts }
}

const bearer = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } })
const braces = '${SERVICE_MCP_API_KEY}'

describe('the entry of', () => {
  type Row = [id: string, http: object, keyed: object, stdio: object, keyedStdio: object]
  const env = (key: string) => ({ env: { SERVICE_MCP_API_KEY: key } })
  const web = { type: 'http', url }
  const own = { type: 'stdio', ...started }
  const secret = '${{ secrets.SERVICE_MCP_API_KEY }}'
  const goose = { enabled: true, name: 'blender', description: 'service-cli', timeout: 300 }
  const gooseKey = { env_keys: ['SERVICE_MCP_API_KEY'] }
  const rows: Row[] = [
    ['claude-code', web, { ...web, ...bearer(braces) }, own, own],
    [
      'cursor',
      { url },
      { url, ...bearer('${env:SERVICE_MCP_API_KEY}') },
      started,
      { ...started, ...env('${env:SERVICE_MCP_API_KEY}') },
    ],
    [
      'vscode',
      web,
      { ...web, ...bearer('${input:blender-key}') },
      own,
      { ...own, ...env('${input:blender-key}') },
    ],
    [
      'gemini-cli',
      { command: '', args: [] },
      { command: '', args: [], ...env(braces) },
      started,
      { ...started, ...env(braces) },
    ],
    [
      'opencode',
      { type: 'remote', url },
      { type: 'remote', url, ...bearer('{env:SERVICE_MCP_API_KEY}') },
      { type: 'local', command: bridge },
      {
        type: 'local',
        command: bridge,
        environment: { SERVICE_MCP_API_KEY: '{env:SERVICE_MCP_API_KEY}' },
      },
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
    ['cline', { type: 'streamableHttp', url }, { type: 'streamableHttp', url }, own, own],
    [
      'continue',
      { name: 'blender', type: 'streamable-http', url },
      { name: 'blender', type: 'streamable-http', url, requestOptions: bearer(secret) },
      { name: 'blender', ...own },
      { name: 'blender', ...own, ...env(secret) },
    ],
    [
      'goose',
      { ...goose, type: 'streamable_http', uri: url },
      { ...goose, type: 'streamable_http', uri: url, ...bearer(braces), ...gooseKey },
      { ...goose, type: 'stdio', cmd: started.command, args: started.args },
      { ...goose, type: 'stdio', cmd: started.command, args: started.args, ...gooseKey },
    ],
    ['amp', { url }, { url }, started, started],
    [
      'codex',
      { url },
      { url, bearer_token_env_var: 'SERVICE_MCP_API_KEY' },
      started,
      { ...started, env_vars: ['SERVICE_MCP_API_KEY'] },
    ],
    ['inspector', web, web, own, own],
    ['mcporter', { url }, { url, ...bearer(braces) }, started, started],
    ['generic', web, { ...web, ...bearer(braces) }, own, { ...own, ...env(braces) }],
    ['claude-desktop', { command: '', args: [] }, { command: '', args: [] }, started, started],
  ]
  for (const [id, http, keyed, stdio, keyedStdio] of rows) {
    it(`${id} says how it is reached, with a key and without`, () => {
      const { entry } = client(id)
      expect(entry(settings()), 'http').to.deep.equal(http)
      expect(entry(settings({ keyed: true })), 'keyed').to.deep.equal(keyed)
      expect(entry(settings({ bridge })), 'stdio').to.deep.equal(stdio)
      expect(entry(settings({ bridge, keyed: true })), 'keyed stdio').to.deep.equal(keyedStdio)
    })
  }

  it('every client is in this table', () => {
    expect(rows.map(([id]) => id)).to.have.members(clients.map(({ id }) => id))
  })

  it('every client leads to the server, by URL or by the bridge', () => {
    // Goose has names of its own; its file is not written, so nobody asks where an entry leads.
    for (const { entry, stdioOnly, id } of clients.filter(each => each.id !== 'goose')) {
      if (stdioOnly !== true) expect(addressOf(entry(settings())), id).to.equal(url)
      expect(addressOf(entry(settings({ bridge }))), id).to.equal('connect blender')
    }
  })

  it('VS Code refers to a question of its own', () => {
    const { input } = client('vscode')
    expect(input?.(settings())).to.equal(null)
    expect(input?.(settings({ keyed: true }))).to.include({ id: 'blender-key', password: true })
  })
})

describe('the settings file of', () => {
  type Row = [id: string, place: Place, user: string | null, project: string | null]
  const rows: Row[] = [
    ['claude-code', linux, '/home/a/.claude.json', '/projects/shot/.mcp.json'],
    ['claude-desktop', linux, null, null],
    [
      'claude-desktop',
      mac,
      '/Users/a/Library/Application Support/Claude/claude_desktop_config.json',
      null,
    ],
    ['claude-desktop', windows, 'D:\\Roaming\\Claude\\claude_desktop_config.json', null],
    ['cursor', linux, '/home/a/.cursor/mcp.json', '/projects/shot/.cursor/mcp.json'],
    ['vscode', linux, '/home/a/.config/Code/User/mcp.json', '/projects/shot/.vscode/mcp.json'],
    ['vscode', windows, 'D:\\Roaming\\Code\\User\\mcp.json', 'C:\\shot\\.vscode\\mcp.json'],
    ['inspector', linux, '/home/a/.mcp-inspector/mcp.json', null],
    ['mcporter', linux, '/home/a/.mcporter/mcporter.json', '/projects/shot/config/mcporter.json'],
    ['opencode', linux, '/home/a/.config/opencode/opencode.jsonc', '/projects/shot/opencode.json'],
    ['qwen-code', linux, '/home/a/.qwen/settings.json', '/projects/shot/.qwen/settings.json'],
    ['copilot-cli', linux, '/home/a/.copilot/mcp-config.json', '/projects/shot/.github/mcp.json'],
    ['cline', linux, '/home/a/.cline/data/settings/cline_mcp_settings.json', null],
    ['continue', linux, null, null],
    ['goose', linux, null, null],
    ['amp', linux, '/home/a/.config/amp/settings.json', '/projects/shot/.amp/settings.json'],
    ['generic', linux, null, null],
  ]
  for (const [id, place, user, project] of rows) {
    it(`${id} is where its maker says on ${place.platform}`, () => {
      const path = (scope: Scope) => client(id).file(scope, place)?.path ?? null
      expect(path('user')).to.equal(user)
      expect(path('project')).to.equal(project)
    })
  }

  const moved: [id: string, variable: string, value: string, path: string][] = [
    ['claude-code', 'CLAUDE_CONFIG_DIR', '/c', '/c/.claude.json'],
    ['gemini-cli', 'GEMINI_CLI_HOME', '/g', '/g/.gemini/settings.json'],
    ['codex', 'CODEX_HOME', '/x', '/x/config.toml'],
    ['inspector', 'MCP_CATALOG_PATH', '/i/all.json', '/i/all.json'],
    ['mcporter', 'MCPORTER_CONFIG', '/m/m.json', '/m/m.json'],
    ['copilot-cli', 'COPILOT_HOME', '/c', '/c/mcp-config.json'],
    ['cline', 'CLINE_MCP_SETTINGS_PATH', '/c/mcp.json', '/c/mcp.json'],
  ]
  for (const [id, variable, value, path] of moved) {
    it(`${id} follows ${variable}, unless it is relative`, () => {
      const at = (env: Record<string, string>) => client(id).file('user', { ...linux, env })?.path
      expect(at({ [variable]: value })).to.equal(path)
      expect(at({ [variable]: 'relative' })).to.equal(at({}))
    })
  }

  it('mcporter is the one it reads of several', () => {
    const file = client('mcporter').file('user', { ...linux, env: { XDG_CONFIG_HOME: '/x' } })
    expect(file?.instead?.map(({ path }) => path)).to.deep.equal([
      '/x/mcporter/mcporter.jsonc',
      '/home/a/.mcporter/mcporter.json',
      '/home/a/.mcporter/mcporter.jsonc',
    ])
  })
})

describe('the commands of', () => {
  const lines = (id: string, parts: Partial<Settings>, scope: Scope = 'user') =>
    client(id)
      .commands(settings(parts), scope)
      .map(words => words.join(' '))

  it('claude-code', () => {
    const add = 'claude mcp add --scope project'
    expect(lines('claude-code', {}, 'project')).to.deep.equal([
      `${add} --transport http blender ${url}`,
    ])
    expect(lines('claude-code', { keyed: true }, 'project')).to.deep.equal([
      `${add} --transport http blender ${url} --header Authorization: Bearer ${braces}`,
    ])
    expect(lines('claude-code', { bridge }, 'project')).to.deep.equal([
      `${add} blender -- /bin/node /x/run.js connect blender`,
    ])
  })

  it('qwen-code', () => {
    expect(lines('qwen-code', {}, 'project')).to.deep.equal([
      `qwen mcp add --scope project --transport http blender ${url}`,
    ])
    expect(lines('qwen-code', { bridge })).to.deep.equal([])
  })

  it('copilot-cli and amp, which has none that refers to a key', () => {
    const run = bridge.join(' ')
    expect([...lines('copilot-cli', {}), ...lines('copilot-cli', { bridge })]).to.deep.equal([
      `copilot mcp add --transport http blender ${url}`,
      `copilot mcp add blender -- ${run}`,
    ])
    expect([...lines('amp', {}, 'project'), ...lines('amp', { bridge })]).to.deep.equal([
      `amp mcp add blender --workspace ${url}`,
      `amp mcp add blender -- ${run}`,
    ])
    expect(lines('copilot-cli', { keyed: true })).to.deep.equal([
      `copilot mcp add --transport http --header Authorization: Bearer ${braces} blender ${url}`,
    ])
    expect(lines('copilot-cli', { bridge, keyed: true })).to.deep.equal([
      `copilot mcp add --env SERVICE_MCP_API_KEY=${braces} blender -- ${run}`,
    ])
    expect(lines('amp', { keyed: true })).to.deep.equal([])
  })

  it('codex, which has none for a project or to hand on a variable', () => {
    expect(lines('codex', { keyed: true })).to.deep.equal([
      `codex mcp add blender --url ${url} --bearer-token-env-var SERVICE_MCP_API_KEY`,
    ])
    expect(lines('codex', { bridge })).to.deep.equal([
      'codex mcp add blender -- /bin/node /x/run.js connect blender',
    ])
    expect(lines('codex', { bridge, keyed: true })).to.deep.equal([])
    expect(lines('codex', {}, 'project')).to.deep.equal([])
  })
})

it('the notes of a client say what to do where it cannot follow a variable', () => {
  for (const id of ['claude-desktop', 'inspector']) {
    const notes = (parts: Partial<Settings>) => notesOf(client(id), settings(parts), 'user')
    const added = notes({ keyed: true, bridge }).filter(note => !notes({ bridge }).includes(note))
    expect(added.join(), id).to.include('--api-key-file')
  }
})
