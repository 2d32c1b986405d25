import { expect } from 'chai'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type McpConfigFlags } from '../../src/commands/mcp-config/settings.ts'
import { runMcpConfig } from '../../src/commands/mcp-config/run.ts'
import type { ServiceError } from '../../src/lib/util/errors.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { startServe } from '../../src/server/serve.ts'
import type { ServeHandle, ServeOptions } from '../../src/server/host/serve-options.ts'

interface Said {
  out: string
  err: string
  error: ServiceError | null
}

describe('mcp-config', () => {
  let home: string
  let registryDir: string
  let running: ServeHandle[]

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'mcp-config-'))
    registryDir = join(home, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    running = []
  })
  afterEach(async () => {
    for (const server of running) await server.stop()
    await rm(home, { recursive: true, force: true })
  })

  async function serve(parts: Partial<ServeOptions> = {}): Promise<ServeHandle> {
    const server = await startServe({
      port: 0,
      host: '127.0.0.1',
      dccType: 'blender',
      artefacts: false,
      accessLog: () => {},
      resources: true,
      allowedHosts: [],
      allowedOrigins: [],
      registryDir,
      log: silentLogger,
      ...parts,
    })
    running.push(server)
    return server
  }

  async function say(
    client: string,
    flags: Partial<McpConfigFlags> = {},
    env: Record<string, string> = {},
  ): Promise<Said> {
    const said: Said = { out: '', err: '', error: null }
    const all: McpConfigFlags = {
      scope: 'user',
      stdio: false,
      write: false,
      force: false,
      json: false,
      quiet: false,
      'registry-dir': registryDir,
      ...flags,
    }
    await runMcpConfig(client, all, {
      place: { platform: 'linux', env, home, cwd: home },
      stdout: { write: (text: string) => (said.out += text) },
      stderr: { write: (text: string) => (said.err += text) },
    }).catch((error: ServiceError) => (said.error = error))
    return said
  }

  const codeOf = ({ error }: Said) => error?.code ?? 'none'

  it('prints the entry of the only running server on stdout', async () => {
    const { url } = await serve()
    const { out, err, error } = await say('claude-code')
    expect(error).to.equal(null)
    expect(JSON.parse(out)).to.deep.equal({ mcpServers: { blender: { type: 'http', url } } })
    expect(err).to.include(join(home, '.claude.json'))
    expect(err).to.include(`claude mcp add --scope user --transport http blender ${url}`)
    expect(await readdir(home)).to.deep.equal(['registry'])
  })

  it('refers to the key of a server and never contains it', async () => {
    const apiKey = 'an-api-key-of-thirty-two-characters'
    await serve({ auth: { mode: 'api-key', key: apiKey, keysFile: '/none' } })
    const { out, err } = await say('codex', {}, { SERVICE_MCP_API_KEY: apiKey })
    expect(out).to.include('bearer_token_env_var = "SERVICE_MCP_API_KEY"')
    expect(out + err).not.to.include(apiKey)
    expect((await say('codex', { auth: 'none' })).out).not.to.include('bearer_token')
  })

  it('names the client that was meant, or all of them', async () => {
    const { error } = await say('claud-code')
    expect(error).to.include({ code: 'usage_invalid', hint: 'did you mean claude-code?' })
    expect((await say('emacs')).error?.hint).to.contain('known clients: claude-code, ')
  })

  it('uses the default address when no server runs', async () => {
    const url = 'http://127.0.0.1:8765/mcp'
    const { out, err } = await say('cursor', { auth: 'none' })
    expect(JSON.parse(out)).to.deep.equal({ mcpServers: { 'service-cli': { url } } })
    expect(err).to.include(`no server is running: the entry uses the default address ${url}`)
    // Port 9 of this machine answers nobody.
    const gone = { url: 'http://127.0.0.1:9/mcp' }
    expect((await say('cursor', gone, { SERVICE_MCP_API_KEY: 'x' })).out).to.include('Bearer ${env')
    expect((await say('cursor', gone)).out).not.to.include('Bearer')
  })

  it('fails with the candidates when several servers run', async () => {
    const first = await serve()
    await serve({ dccType: 'maya' })
    const { out, error } = await say('cursor')
    expect(out).to.equal('')
    expect(error).to.include({ code: 'usage_invalid' })
    expect(error?.message).to.include(first.url)
    expect((await say('cursor', { instance: first.instanceId })).out).to.include(first.url)
    expect((await say('cursor', { instance: 'maya' })).out).to.include('"maya"')
  })

  it('prints one line of JSON with --json', async () => {
    const { url } = await serve()
    const { out, err } = await say('vscode', { json: true, auth: 'api-key', scope: 'project' })
    expect(err).to.equal('')
    expect(out.trimEnd()).not.to.include('\n')
    const told = JSON.parse(out)
    expect(told).to.deep.include({
      client: 'vscode',
      scope: 'project',
      file: join(home, '.vscode', 'mcp.json'),
      format: 'jsonc',
      name: 'blender',
      url,
      transport: 'http',
      auth: 'api-key',
      section: 'servers',
    })
    expect(JSON.parse(told.snippet).servers.blender).to.deep.equal(told.entry)
    expect(JSON.parse(told.snippet).inputs).to.deep.equal([told.input])
  })

  it('writes the entry once and reports it unchanged afterwards', async () => {
    await serve()
    const file = join(home, '.cursor', 'mcp.json')
    const first = await say('cursor', { write: true })
    expect(first.out).to.equal(`added the entry blender in ${file}\n`)
    const text = await readFile(file, 'utf8')
    const second = await say('cursor', { write: true })
    expect(second.out).to.equal(`unchanged: ${file} already has the entry blender\n`)
    expect(await readFile(file, 'utf8')).to.equal(text)
    expect(await readdir(join(home, '.cursor'))).to.deep.equal(['mcp.json'])
  })

  it('prints the backup path with --json', async () => {
    await serve()
    const file = join(home, '.mcp.json')
    await writeFile(file, '{}')
    const { out } = await say('claude-code', { write: true, json: true, scope: 'project' })
    const { change, backup } = JSON.parse(out)
    expect(change).to.equal('added')
    expect(await readFile(backup, 'utf8')).to.equal('{}')
  })

  it('replaces the entry of another server only with --force', async () => {
    const file = join(home, '.cursor', 'mcp.json')
    const at = (port: number) => `http://127.0.0.1:${port}/mcp`
    const write = (port: number, force = false) =>
      say('cursor', { write: true, url: at(port), name: 'x', auth: 'none', force })
    await write(1)
    const refused = await write(2)
    expect(codeOf(refused)).to.equal('entry_exists')
    expect(refused.error?.message).to.include(at(1))
    expect(await readFile(file, 'utf8')).to.include(at(1))
    expect((await write(2, true)).out).to.match(/^replaced the entry x in /)
    expect(await readFile(file, 'utf8')).not.to.include(at(1))
  })

  it('prints the entry when the file is invalid', async () => {
    await mkdir(join(home, '.cursor'))
    await writeFile(join(home, '.cursor', 'mcp.json'), '{ half')
    const said = await say('cursor', { write: true, auth: 'none' })
    expect(codeOf(said)).to.equal('config_invalid')
    expect(said.err).to.include('"mcpServers"')
    expect(await readFile(join(home, '.cursor', 'mcp.json'), 'utf8')).to.equal('{ half')
  })

  it('writes the command of the bridge for stdio clients', async () => {
    await serve()
    const words = async (flags: Partial<McpConfigFlags>) => {
      const { out } = await say('claude-desktop', { auth: 'none', ...flags })
      const { command, args } = Object.values(JSON.parse(out).mcpServers)[0] as {
        command: string
        args: string[]
      }
      expect(command).to.equal(process.execPath)
      expect(args[0]).to.match(/[/\\]bin[/\\]run\.js$/)
      return args.slice(1)
    }
    const rest = ['--registry-dir', registryDir]
    // It shows an error for a program that ends, so it gets one that serves when nothing runs.
    const joining = ['serve', '--stdio', '--dcc-type', 'blender', ...rest]
    expect(await words({})).to.deep.equal(joining)
    const url = 'http://127.0.0.1:9/mcp'
    expect(await words({ url })).to.deep.equal(['connect', url])
    const keyFile = join(home, 'key')
    const told = await words({ auth: 'api-key', 'api-key-file': keyFile })
    expect(told).to.deep.equal([...joining, '--api-key-file', keyFile])
    const { out } = await say('cursor', { stdio: true, auth: 'none' })
    expect(JSON.parse(out).mcpServers.blender.args.slice(1)).to.deep.equal([
      'connect',
      'blender',
      ...rest,
    ])
  })

  const needs = /needs SERVICE_MCP_API_KEY in its environment: start it where that is set\./
  const readers = ['claude-code', 'cursor', 'codex', 'mcporter', 'opencode', 'qwen-code']
  for (const client of [...readers, 'copilot-cli', 'goose', 'gemini-cli', 'generic']) {
    it(`says that ${client} needs the key in its environment, when one is required`, async () => {
      const write = !['goose', 'generic'].includes(client)
      expect((await say(client, { auth: 'api-key', write })).err).to.match(needs)
      expect((await say(client, { auth: 'none' })).err).to.not.match(needs)
    })
  }

  it('does not ask for the variable where a file has the key', async () => {
    const flags = { auth: 'api-key', stdio: true, 'api-key-file': join(home, 'key') } as const
    expect((await say('claude-code', flags)).err).to.not.match(needs)
  })

  it('notes that Claude Desktop does not exist for Linux', async () => {
    const { err, out } = await say('claude-desktop', { auth: 'none' })
    expect(err).to.contain('Claude Desktop is not known on Linux')
    expect(JSON.parse(out)).to.have.property('mcpServers')
  })

  for (const client of ['claude-desktop', 'gemini-cli']) {
    it(`lets ${client} start a server when none runs`, async () => {
      const { out, err } = await say(client, { auth: 'none' })
      const { args } = JSON.parse(out).mcpServers['service-cli']
      expect(args.slice(1)).to.deep.equal(['serve', '--stdio', '--registry-dir', registryDir])
      expect(err).to.include('or starts one')
    })
  }

  it('prints YAML for clients with YAML settings', async () => {
    const { url } = await serve()
    expect((await say('goose')).out).to.equal(
      [
        'extensions:',
        '  "blender":',
        '    enabled: true',
        '    name: "blender"',
        '    description: "service-cli"',
        '    timeout: 300',
        '    type: "streamable_http"',
        `    uri: "${url}"`,
        '',
      ].join('\n'),
    )
    expect((await say('continue', { auth: 'api-key' })).out).to.equal(
      [
        'mcpServers:',
        '  - name: "blender"',
        '    type: "streamable-http"',
        `    url: "${url}"`,
        '    requestOptions:',
        '      headers:',
        '        Authorization: "Bearer ${{ secrets.SERVICE_MCP_API_KEY }}"',
        '',
      ].join('\n'),
    )
    expect(codeOf(await say('goose', { write: true }))).to.equal('usage_invalid')
  })

  it('warns about a key over unencrypted HTTP', async () => {
    const far = { url: 'http://studio.example/mcp', auth: 'api-key' } as const
    const { out, err } = await say('cursor', far)
    expect(JSON.parse(out)).to.have.property('mcpServers')
    expect(err).to.include('warning: the key goes unencrypted to studio.example')
    expect((await say('cursor', { ...far, stdio: true })).err).to.include('--allow-http')
    expect((await say('cursor', { ...far, auth: 'none' })).err).to.not.include('warning')
    for (const url of ['https://studio.example/mcp', 'http://[::1]:8765/mcp']) {
      expect((await say('cursor', { ...far, url })).err).to.not.include('warning')
    }
  })

  const refused: [what: string, client: string, flags: Partial<McpConfigFlags>][] = [
    ['a key file for a client that stores the key', 'cursor', { 'api-key-file': 'k' }],
    ['to write for a client without a file', 'generic', { write: true }],
    [
      'to write a project’s file that a client does not read',
      'inspector',
      { write: true, scope: 'project' },
    ],
    ['an invalid name', 'cursor', { name: 'a b' }],
    ['an invalid URL', 'cursor', { url: 'x' }],
    ['an unknown client', 'emacs', {}],
  ]
  for (const [what, client, flags] of refused) {
    it(`refuses ${what}`, async () => {
      expect(codeOf(await say(client, { auth: 'none', ...flags }))).to.equal('usage_invalid')
    })
  }
})
