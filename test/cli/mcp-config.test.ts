import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Output } from '../../src/lib/cli/output.ts'
import { jsonLine } from '../../src/lib/util/text.ts'
import { runMcpConfig } from '../../src/commands/mcp-config/run.ts'
import {
  type McpConfigFlags,
  registryWords,
  warningsOf,
} from '../../src/commands/mcp-config/settings.ts'
import { selectStateDirectory } from '../../src/lib/config/paths.ts'
import { clients } from '../../src/lib/mcp/settings/clients.ts'
import type { ServiceError } from '../../src/lib/util/errors.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { root } from '../helpers/program.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

interface Where {
  env?: Record<string, string>
  platform?: NodeJS.Platform
}

interface Said {
  out: string
  err: string
  error: ServiceError | null
}

describe('mcp-config', () => {
  let folder: string
  let home: string
  /** The state directory of one server of Blender, and one without a server. */
  let registryDir: string
  let empty: string
  let server: RunningServe

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mcp-config-'))
    registryDir = join(folder, 'registry')
    empty = join(folder, 'empty')
    for (const path of [registryDir, empty]) await mkdir(path, { mode: 0o700 })
    server = await serveInProcess({ registryDir, flags: ['--dcc-type=blender'] })
  })
  beforeEach(async () => {
    home = await mkdtemp(join(folder, 'home-'))
  })
  after(async () => {
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function say(
    client: string,
    flags: Partial<McpConfigFlags> = {},
    { env = {}, platform = 'linux' }: Where = {},
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
    const output: Output = {
      result: async (text, json) => {
        said.out += all.json ? jsonLine(json) : text && `${text}\n`
      },
      note: text => (said.err += all.json || all.quiet ? '' : `${text}\n`),
      warn: text => (said.err += `warning: ${text}\n`),
    }
    const place = { platform, env, home, cwd: home }
    await runMcpConfig(client, all, place, output).catch(
      (error: ServiceError) => (said.error = error),
    )
    return said
  }

  const codeOf = ({ error }: Said) => error?.code ?? 'none'
  const cursorFile = () => join(home, '.cursor', 'mcp.json')
  const readCursor = () => readFile(cursorFile(), 'utf8')
  const at = (port: number) => `http://127.0.0.1:${port}/mcp`

  it('prints the entry of the only running server on stdout', async () => {
    const { url } = server
    const { out, err, error } = await say('claude-code')
    expect(error).to.equal(null)
    expect(JSON.parse(out)).to.deep.equal({ mcpServers: { blender: { type: 'http', url } } })
    expect(err).to.include(join(home, '.claude.json'))
    expect(err).to.include(`claude mcp add --scope user --transport http blender ${url}`)
    expect(await readdir(home)).to.deep.equal([])
  })

  it('refers to the key of a server and never contains it', async () => {
    const apiKey = 'an-api-key-of-thirty-two-characters'
    const env = { SERVICE_MCP_API_KEY: apiKey }
    const keyed = await serveInProcess({ env })
    try {
      const { out, err } = await say('codex', { url: keyed.url }, { env })
      expect(out).to.include('bearer_token_env_var = "SERVICE_MCP_API_KEY"')
      expect(out + err).not.to.include(apiKey)
    } finally {
      await keyed.stop()
    }
    expect((await say('codex')).out).not.to.include('bearer_token')
  })

  it('names the client that was meant, or all of them', async () => {
    const { error } = await say('claud-code')
    expect(error).to.include({ code: 'usage_invalid', hint: 'did you mean claude-code?' })
    expect((await say('emacs')).error?.hint).to.contain('known clients: claude-code, ')
  })

  it('uses the default address when no server runs', async () => {
    const url = at(8765)
    const { out, err } = await say('cursor', { auth: 'none', 'registry-dir': empty })
    expect(JSON.parse(out)).to.deep.equal({ mcpServers: { 'service-cli': { url } } })
    expect(err).to.include(`no server is running: the entry uses the default address ${url}`)
    // Port 9 of this machine answers nobody.
    const env = { SERVICE_MCP_API_KEY: 'x' }
    expect((await say('cursor', { url: at(9) }, { env })).out).to.include('Bearer ${env')
    expect((await say('cursor', { url: at(9) })).out).not.to.include('Bearer')
  })

  it('prints one line of JSON with --json', async () => {
    const { out, err } = await say('vscode', { json: true, auth: 'api-key', scope: 'project' })
    expect(err).to.equal('')
    expect(out.trimEnd()).not.to.include('\n')
    const { snippet, entry, input, ...told } = JSON.parse(out)
    expect(told).to.include({ client: 'vscode', scope: 'project', name: 'blender' })
    expect(told).to.include({ url: server.url, transport: 'http', auth: 'api-key' })
    expect(told).to.include({ file: join(home, '.vscode', 'mcp.json'), format: 'jsonc' })
    const section = JSON.parse(snippet)[told.section]
    expect(section.blender).to.deep.equal(entry)
    expect(JSON.parse(snippet).inputs).to.deep.equal([input])
  })

  it('writes the entry once and reports it unchanged afterwards', async () => {
    const first = await say('cursor', { write: true })
    expect(first.out).to.equal(`added the entry blender in ${cursorFile()}\n`)
    const text = await readCursor()
    const second = await say('cursor', { write: true })
    expect(second.out).to.equal(`unchanged: ${cursorFile()} already has the entry blender\n`)
    expect(await readCursor()).to.equal(text)
    expect(await readdir(join(home, '.cursor'))).to.deep.equal(['mcp.json'])
  })

  it('replaces the entry of another server only with --force', async () => {
    const write = (port: number, force = false) =>
      say('cursor', { write: true, url: at(port), name: 'x', auth: 'none', force })
    await write(1)
    const refused = await write(2)
    expect(codeOf(refused)).to.equal('entry_exists')
    expect(refused.error?.message).to.include(at(1))
    expect(await readCursor()).to.include(at(1))
    expect((await write(2, true)).out).to.match(/^replaced the entry x in /)
    expect(await readCursor()).not.to.include(at(1))
  })

  it('prints the entry when the file is invalid', async () => {
    await mkdir(join(home, '.cursor'))
    await writeFile(cursorFile(), '{ half')
    const said = await say('cursor', { write: true })
    expect(codeOf(said)).to.equal('config_invalid')
    expect(said.err).to.include('"mcpServers"')
    expect(await readCursor()).to.equal('{ half')
  })

  it('writes the command of the bridge for stdio clients', async () => {
    const words = async (client: string, flags: Partial<McpConfigFlags> = {}) => {
      const { out } = await say(client, { auth: 'none', ...flags })
      const [{ command, args }] = Object.values<any>(JSON.parse(out).mcpServers)
      expect(command).to.equal(process.execPath)
      expect(args[0]).to.match(/[/\\]bin[/\\]run\.js$/)
      return args.slice(1).join(' ')
    }
    const place = `--registry-dir ${registryDir}`
    // It shows an error for a program that ends, so it gets one that serves when nothing runs.
    const joining = `serve --stdio --dcc-type blender ${place}`
    expect(await words('claude-desktop')).to.equal(joining)
    expect(await words('claude-desktop', { url: at(9) })).to.equal(`connect ${at(9)}`)
    const key = { auth: 'api-key', 'api-key-file': '/the/key' } as const
    expect(await words('claude-desktop', key)).to.equal(`${joining} --api-key-file /the/key`)
    expect(await words('cursor', { stdio: true })).to.equal(`connect blender ${place}`)
    const { err } = await say('claude-desktop')
    expect(err).to.contain('Claude Desktop is not known on Linux')
    for (const client of ['claude-desktop', 'gemini-cli']) {
      const alone = await words(client, { 'registry-dir': empty })
      expect(alone).to.equal(`serve --stdio --registry-dir ${empty}`)
    }
  })

  it('passes --registry-dir when the client may resolve another default', () => {
    const usual = selectStateDirectory(undefined, {})
    expect(registryWords(usual, { TMPDIR: '' })).to.deep.equal([])
    expect(registryWords('/elsewhere', {})).to.deep.equal(['--registry-dir', '/elsewhere'])
    const env = { TEMP: '/var/folders/x' }
    expect(registryWords(usual, env)).to.deep.equal(['--registry-dir', usual])
  })

  it('says that a client needs the key in its environment, unless a file has it', async () => {
    const needs = /needs SERVICE_MCP_API_KEY in its environment: start it where that is set\./
    for (const client of ['claude-code', 'codex', 'opencode', 'gemini-cli', 'goose']) {
      const write = client !== 'goose'
      expect((await say(client, { auth: 'api-key', write })).err, client).to.match(needs)
      expect((await say(client, { auth: 'none' })).err, client).to.not.match(needs)
    }
    const flags = { auth: 'api-key', stdio: true, 'api-key-file': join(home, 'key') } as const
    expect((await say('claude-code', flags)).err).to.not.match(needs)
  })

  it('prints YAML that refers to the key', async () => {
    const { out } = await say('continue', { auth: 'api-key' })
    expect(out).to.match(/\n +Authorization: "Bearer \$\{\{ secrets\.SERVICE_MCP_API_KEY \}\}"\n$/)
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

  it('warns about a program in the npx cache', () => {
    const warn = (path: string) =>
      warningsOf({ url: 'http://[::1]/mcp', keyed: false, bridge: ['node', path, 'connect'] })
    expect(warn('/home/me/.npm/_npx/1f/node_modules/service-cli/bin/run.js')[0]).to.include('npx')
    expect(warn('C:\\npm-cache\\_npx\\1f\\bin\\run.js')).to.have.length(1)
    expect(warn('/usr/lib/node_modules/service-cli/bin/run.js')).to.deep.equal([])
  })

  const refused: [what: string, client: string, flags: Partial<McpConfigFlags>][] = [
    ['a key file for a client that stores the key', 'cursor', { 'api-key-file': 'k' }],
    ['to write for a client without a file', 'generic', { write: true }],
    ['to write YAML', 'goose', { write: true }],
    ['to write a file that a client does not read', 'inspector', { write: true, scope: 'project' }],
    ['an invalid name', 'cursor', { name: 'a b' }],
    ['an invalid URL', 'cursor', { url: 'x' }],
  ]
  for (const [what, client, flags] of refused) {
    it(`refuses ${what}`, async () => {
      expect(codeOf(await say(client, { auth: 'none', ...flags }))).to.equal('usage_invalid')
    })
  }

  describe('in the docs', () => {
    const readDoc = (name: string) => readFileSync(join(root, 'docs', name), 'utf8')
    const [, section = ''] = readDoc('clients.md').split('\nExact lines,')
    /** The block below the bold name of a client. */
    const blocks = Array.from(
      section.matchAll(/\n\*\*([^*]+)\*\*[^`]*(?:`[^`\n]+`[^`]*)*```(\w+)\n([^]*?)\n```/g),
      ([, title = '', form = '', text = '']) => ({ title, form, text }),
    )
    /** The set-up commands of the table in docs/agents.md. */
    const setUps = Array.from(
      readDoc('agents.md').matchAll(
        /\n\| ([\w ]+) \| `service-cli mcp-config (\S+)( --write)?` \|/g,
      ),
      ([, title = '', id = '', write]) => ({ title, id, writes: write !== undefined }),
    )
    const idOf = (title: string) => clients.find(client => client.title === title)?.id ?? title
    const usual = { url: at(8765), name: 'blender' }

    it('has a block for most clients', () => {
      const most = 'claude-code cursor vscode codex opencode qwen-code copilot-cli cline continue'
      const others = 'goose amp inspector'
      const expected = `${most} ${others}`.split(' ')
      expect(blocks.map(({ title }) => idOf(title))).to.include.members(expected)
      expect(setUps).to.have.length(10)
    })

    for (const { title, form, text } of blocks) {
      const [, line = '', more] = /^([^#\n]+?)(?:\s+# \[ (.+) \])?$/.exec(text) ?? []
      it(`prints what they show for ${title}`, async () => {
        const id = idOf(title)
        const auth = text.includes('SERVICE_MCP_API_KEY') ? 'api-key' : 'none'
        const plain = await say(id, { ...usual, auth: 'none' })
        const { out, err } = await say(id, { ...usual, auth })
        if (form === 'json') expect(JSON.parse(text)).to.deep.equal(JSON.parse(out))
        else if (form === 'yaml') expect(plain.out.trim()).to.equal(text)
        else if (line.startsWith('service-cli mcp-config')) {
          expect(line).to.match(new RegExp(`^service-cli mcp-config ${id} --write`))
        } else {
          expect(plain.err).to.include(line)
          if (more !== undefined) expect(err).to.include(more)
        }
      })
    }

    for (const { title, id, writes } of setUps) {
      it(`sets up ${title} as they say, or prints what to paste`, async () => {
        expect(idOf(title)).to.equal(id)
        // It exists nowhere else.
        const platform = id === 'claude-desktop' ? 'darwin' : 'linux'
        const flags = { ...usual, auth: 'none', write: writes } as const
        const { out } = await say(id, flags, { platform })
        expect(out).to.match(writes ? /^added the entry blender in / : /blender/)
      })
    }
  })
})
