import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { clients } from '../../src/lib/mcp/settings/clients.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv, root } from '../helpers/program.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

const isPosix = process.platform !== 'win32'

describe('mcp-config', () => {
  let folder: string
  let home: string
  /** The state directory of one server of Blender, and one without a server. */
  let registryDir: string
  let empty: string
  let server: RunningServe

  before(async () => {
    folder = newFolder()
    registryDir = join(folder, 'registry')
    empty = join(folder, 'empty')
    for (const path of [registryDir, empty]) await mkdir(path, { mode: 0o700 })
    server = await serveInProcess({ registryDir, flags: ['--dcc-type=blender'] })
  })
  beforeEach(async () => {
    home = await mkdtemp(join(folder, 'home-'))
  })

  const run = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const place = args.includes('--registry-dir') ? [] : ['--registry-dir', registryDir]
    const argv = ['mcp-config', ...args, ...place]
    const {
      code,
      stdout: out,
      stderr: err,
    } = await runCommand(argv, { env: cleanEnv({ HOME: home, TMPDIR: undefined, ...env }) })
    return { code, out, err }
  }
  const mcpConfig = (line: string, env?: NodeJS.ProcessEnv) => run(line.split(' '), env)
  const nothing = () => `--registry-dir ${empty}`

  const cursorFile = () => join(home, '.cursor', 'mcp.json')
  const readCursor = () => readFile(cursorFile(), 'utf8')
  const writeFileAt = async (path: string, text: string | Buffer) => {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  const at = (port: number) => `http://127.0.0.1:${port}/mcp`

  it('prints the entry of the only running server on stdout', async () => {
    const { url } = server
    const { out, err, code } = await mcpConfig('claude-code')
    expect(code, err).to.equal(0)
    expect(JSON.parse(out)).to.deep.equal({ mcpServers: { blender: { type: 'http', url } } })
    expect(err).to.include(join(home, '.claude.json'))
    expect(err).to.include(`claude mcp add --scope user --transport http blender ${url}`)
    expect(await readdir(home)).to.deep.equal([])
  })

  it('refers to the key of a server, and leaves no entry in its audit', async () => {
    const apiKey = 'an-api-key-of-thirty-two-characters'
    const env = { SERVICE_MCP_API_KEY: apiKey }
    const keyed = await serveInProcess({ env })
    const { out, err } = await mcpConfig(`codex --url ${keyed.url}`, env)
    expect(out).to.include('bearer_token_env_var = "SERVICE_MCP_API_KEY"')
    expect(out + err).not.to.include(apiKey)
    const audit = ['resources', 'read', 'audit://recent', '--url', keyed.url]
    const { stdout } = await runCommand(audit, { env: cleanEnv({ HOME: home, ...env }) })
    expect(JSON.parse(stdout).entries).to.deep.equal([])
    expect((await mcpConfig('codex')).out).not.to.include('bearer_token')
  })

  it('uses the default address when no server runs', async () => {
    const url = at(8765)
    const { out, err } = await mcpConfig(`cursor --auth none ${nothing()}`)
    expect(JSON.parse(out)).to.deep.equal({ mcpServers: { 'service-cli': { url } } })
    expect(err).to.include(`found no running server: the entry uses the default address ${url}`)
    // Port 9 of this machine answers nobody.
    const env = { SERVICE_MCP_API_KEY: 'x' }
    expect((await mcpConfig(`cursor --url ${at(9)}`, env)).out).to.include('Bearer ${env')
    expect((await mcpConfig(`cursor --url ${at(9)}`)).out).not.to.include('Bearer')
  })

  it('chooses among several servers by kind or id, and lists them otherwise', async () => {
    const maya = await serveInProcess({ registryDir, flags: ['--dcc-type=maya'] })
    const several = await mcpConfig('cursor')
    expect(several.code).to.equal(2)
    expect(several.err).to.include('2 instances are running').and.include('--gateway')
    const servers = async (line: string) => JSON.parse((await mcpConfig(line)).out).mcpServers
    expect(await servers('cursor --dcc-type maya')).to.deep.equal({ maya: { url: maya.url } })
    const byId = await servers(`cursor --instance ${maya.instanceId.slice(0, 8)}`)
    expect(byId).to.deep.equal({ maya: { url: maya.url } })
    expect((await servers(`cursor --url ${server.url}`))['service-cli'].url).to.equal(server.url)
    await maya.stop()
    const { code, err } = await mcpConfig('cursor --dcc-type maya')
    expect(code).to.equal(5)
    expect(err).to.include('found no running instance "maya"')
  })

  it('prints one line of JSON with --json', async () => {
    const { out, err } = await mcpConfig('vscode --json --auth api-key --scope project')
    expect(err).to.equal('')
    expect(out.trimEnd()).not.to.include('\n')
    const { snippet, entry, input, ...told } = JSON.parse(out)
    expect(told).to.include({ client: 'vscode', scope: 'project', name: 'blender' })
    expect(told).to.include({ url: server.url, transport: 'http', auth: 'api-key' })
    expect(told).to.include({ file: join(process.cwd(), '.vscode', 'mcp.json'), format: 'jsonc' })
    const section = JSON.parse(snippet)[told.section]
    expect(section.blender).to.deep.equal(entry)
    expect(JSON.parse(snippet).inputs).to.deep.equal([input])
  })

  it('writes the entry once and reports it unchanged afterwards', async () => {
    const write = () => mcpConfig('cursor --write --auth api-key')
    const first = await write()
    expect(first.out).to.equal(`added the entry blender in ${cursorFile()}\n`)
    const text = await readCursor()
    const second = await write()
    expect(second.out).to.equal(`unchanged: ${cursorFile()} already has the entry blender\n`)
    expect(await readCursor()).to.equal(text)
    expect(await readdir(join(home, '.cursor'))).to.deep.equal(['mcp.json'])
    if (isPosix) expect((await stat(cursorFile())).mode & 0o777).to.equal(0o600)
    if (isPosix) expect((await stat(join(home, '.cursor'))).mode & 0o777).to.equal(0o700)
  })

  it('merges into a file, keeps its mode, and keeps the old one beside it', async () => {
    const before = '{\r\n  // mine\r\n  "mcpServers": {},\r\n  "x": 1\r\n}\r\n'
    await writeFileAt(cursorFile(), before)
    await chmod(cursorFile(), 0o640)
    const { out, err } = await mcpConfig(`cursor --write --auth none --url ${at(1)} --name x`)
    const [, backup = ''] = /backup of the old file: (.+)/.exec(out) ?? []
    const entry = `{\r\n    "x": {\r\n      "url": "${at(1)}"\r\n    }\r\n  }`
    expect(await readCursor(), err).to.equal(before.replace('{}', entry))
    expect(await readFile(backup, 'utf8')).to.equal(before)
    expect(await readdir(join(home, '.cursor'))).to.have.length(2)
    for (const path of isPosix ? [cursorFile(), backup] : []) {
      expect((await stat(path)).mode & 0o777).to.equal(0o640)
    }
  })

  it('replaces the entry of another server only with --force', async () => {
    const write = (port: number, force = '') =>
      mcpConfig(`cursor --write --url ${at(port)} --name x --auth none${force}`)
    await write(1)
    const refused = await write(2)
    expect(refused.code).to.equal(1)
    expect(refused.err).to.include('has another entry "x"')
    expect(await readCursor()).to.include(at(1))
    expect((await write(2, ' --force')).out).to.match(/^replaced the entry x in /)
    expect(await readCursor()).not.to.include(at(1))
  })

  const unusable: [what: string, content: string | Buffer, told: string][] = [
    ['half a file', '{ half', ':1:'],
    ['another encoding', Buffer.from('\uFEFF{}', 'utf16le'), ' is not UTF-8'],
  ]
  for (const [what, content, told] of unusable) {
    it(`refuses ${what}, and prints the entry to paste`, async () => {
      await writeFileAt(cursorFile(), content)
      const { code, err } = await mcpConfig('cursor --write')
      expect(code).to.equal(2)
      expect(err).to.include('"mcpServers"').and.include(`${cursorFile()}${told}`)
      expect(await readFile(cursorFile())).to.deep.equal(Buffer.from(content))
      expect(await readdir(join(home, '.cursor'))).to.deep.equal(['mcp.json'])
    })
  }

  it('refuses a symbolic link', async function () {
    if (!isPosix) this.skip()
    await writeFileAt(join(home, 'real.json'), '{}')
    await mkdir(join(home, '.cursor'))
    await symlink('../real.json', cursorFile())
    expect((await mcpConfig('cursor --write')).err).to.include('is a symbolic link')
  })

  const cline = '.cline/data/settings/cline_mcp_settings.json'
  const projects = { '/shot': { disabledMcpServers: ['blender'] } }
  const off: [client: string, path: string, settings: object | string, told: string][] = [
    [
      'opencode',
      '.config/opencode/opencode.jsonc',
      { mcp: { blender: { enabled: false } } },
      'its "enabled" is false',
    ],
    ['cline', cline, { mcpServers: { blender: { disabled: true } } }, 'its "disabled" is true'],
    ['gemini-cli', '.gemini/settings.json', { mcp: { excluded: ['blender'] } }, '"mcp.excluded"'],
    ['qwen-code', '.qwen/settings.json', { mcp: { allowed: ['other'] } }, '"mcp.allowed"'],
    ['claude-code', '.claude.json', { projects }, '"disabledMcpServers" of a project'],
    ['codex', '.codex/config.toml', '[mcp_servers.blender]\nenabled = false\n', '"enabled"'],
  ]
  for (const [client, file, settings, told] of off) {
    it(`warns that ${client} does not use an entry that is switched off`, async () => {
      const path = join(home, file)
      await writeFileAt(path, typeof settings === 'string' ? settings : JSON.stringify(settings))
      const { code, err } = await mcpConfig(client)
      expect(code, err).to.equal(0)
      expect(err)
        .to.match(/warning: .+ does not use the entry blender: /)
        .and.include(told)
    })
  }

  it('writes the command of the bridge for stdio clients', async () => {
    const words = async (line: string) => {
      const { out, err } = await mcpConfig(`${line} --auth none`)
      expect(out, err).not.to.equal('')
      const [{ command, args }] = Object.values<any>(JSON.parse(out).mcpServers)
      expect(command).to.equal(process.execPath)
      expect(args[0]).to.match(/[/\\]bin[/\\]run\.js$/)
      return args.slice(1).join(' ')
    }
    const place = `--registry-dir ${registryDir}`
    // They show an error for a program that ends, so they get one that serves when nothing runs.
    const joining = `serve --stdio --dcc-type blender ${place}`
    expect((await mcpConfig('gemini-cli')).err).to.include('off in a folder that is not trusted')
    for (const client of ['claude-desktop', 'gemini-cli', 'cline']) {
      expect(await words(client), client).to.equal(joining)
      expect(await words(`${client} ${nothing()}`)).to.equal(`serve --stdio ${nothing()}`)
      const kind = `${client} --dcc-type maya ${nothing()}`
      expect(await words(kind)).to.equal(`serve --stdio --dcc-type maya ${nothing()}`)
    }
    expect(await words(`cline --url ${at(9)}`)).to.equal(`connect ${at(9)}`)
    expect(await words('cline --api-key-file /the/key')).to.equal(
      `${joining} --api-key-file /the/key`,
    )
    expect(await words('cursor --stdio')).to.equal(`connect blender ${place}`)
  })

  it('says that a client needs the key in its environment, unless a file has it', async () => {
    const needs = /needs SERVICE_MCP_API_KEY in its environment: start it where that is set\./
    for (const client of ['claude-code', 'codex', 'opencode', 'gemini-cli']) {
      expect((await mcpConfig(`${client} --auth api-key`)).err, client).to.match(needs)
      expect((await mcpConfig(`${client} --auth none`)).err, client).to.not.match(needs)
    }
    const flags = `--auth api-key --stdio --api-key-file ${join(home, 'key')}`
    expect((await mcpConfig(`claude-code ${flags}`)).err).to.not.match(needs)
  })

  it('makes no entry without the key for a server that would refuse it', async () => {
    for (const client of ['cline', 'amp', 'claude-desktop']) {
      const { code, out, err } = await mcpConfig(`${client} --auth api-key`)
      expect([code, out], client).to.deep.equal([2, ''])
      expect(err).to.include('cannot refer to the key').and.include('--api-key-file FILE')
      const flags = '--auth api-key --stdio --api-key-file /the/key'
      expect((await mcpConfig(`${client} ${flags}`)).out).to.include('/the/key')
    }
  })

  it('prints YAML that starts the bridge and refers to the key', async () => {
    const { out } = await mcpConfig('continue --auth api-key')
    expect(out).to.match(/^mcpServers:\n {2}- \{.*"serve","--stdio".*\}\n$/)
    expect(out).to.include('"env":{"SERVICE_MCP_API_KEY":"${{ secrets.SERVICE_MCP_API_KEY }}"}')
  })

  it('warns about a key over unencrypted HTTP', async () => {
    const far = 'cursor --url http://studio.example/mcp --auth'
    const { out, err } = await mcpConfig(`${far} api-key`)
    expect(JSON.parse(out)).to.have.property('mcpServers')
    expect(err).to.include('warning: the key goes unencrypted to studio.example')
    expect((await mcpConfig(`${far} api-key --stdio`)).err).to.include('--allow-http')
    expect((await mcpConfig(`${far} none`)).err).to.not.include('warning')
    for (const url of ['https://studio.example/mcp', 'http://[::1]:8765/mcp']) {
      const { err: none } = await mcpConfig(`cursor --auth api-key --url ${url}`)
      expect(none).to.not.include('warning')
    }
  })

  const refused: [line: string, told: string][] = [
    ['emacs', 'known clients: claude-code, '],
    ['cursor --api-key-file k', '--api-key-file is for --stdio'],
    ['generic --write', 'settings of other clients have no known place'],
    ['continue --write', 'settings of Continue are not JSON'],
    ['codex --write --auth none', 'run: codex mcp add blender --url http://127.0.0.1:'],
    ['claude-desktop --scope project', 'Claude Desktop has no settings of a project'],
    ['cursor --name a.b', '--name must be'],
    ['cursor --url x', 'is not an http or https URL'],
  ]
  for (const [line, told] of refused) {
    it(`refuses ${line}`, async () => {
      const { code, err } = await mcpConfig(line)
      expect(code).to.equal(2)
      expect(err).to.include(told)
    })
  }

  describe('in the docs', () => {
    const page = readFileSync(join(root, 'docs', 'clients.md'), 'utf8')
    const idOf = (title: string) => clients.find(client => client.title === title)?.id ?? title
    /** Lines such as `Cursor:   {"mcpServers":…}`, and the set-up commands of the first table. */
    const entries = [...page.matchAll(/^([A-Za-z ]+): +((?:\{|claude |codex ).+)$/gm)]
    const setUps = [
      ...page.matchAll(/^\| ([\w ]+) \| `service-cli mcp-config ([\w-]+)( --write)?`/gm),
    ]
    const usual = ['--url', at(8765), '--name', 'blender', '--auth']

    it('has every client', () => {
      const known = clients.filter(({ id }) => id !== 'generic')
      expect(setUps.map(([, title]) => title)).to.have.members(known.map(({ title }) => title))
      expect(entries).to.have.length(11)
    })

    for (const [, title = '', entry = ''] of entries) {
      const auth = entry.includes('SERVICE_MCP_API_KEY') ? 'api-key' : 'none'
      it(`prints what they show for ${title}, with --auth ${auth}`, async () => {
        const { out, err } = await run([idOf(title), ...usual, auth])
        if (entry.startsWith('{')) expect(JSON.parse(entry)).to.deep.equal(JSON.parse(out))
        else expect(err).to.include(entry)
      })
    }

    for (const [, title = '', id = '', write] of setUps) {
      it(`sets up ${title} as they say, or prints what to paste`, async () => {
        expect(idOf(title)).to.equal(id)
        // It exists nowhere else.
        if (id === 'claude-desktop' && process.platform === 'linux') return
        const { out, err } = await run([id, ...usual, 'none', ...(write ? ['--write'] : [])])
        expect(out, err).to.match(write ? /^added the entry blender in / : /blender/)
      })
    }
  })
})
