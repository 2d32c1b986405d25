import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { readPythonClient } from '../../src/commands/adapter/adapter-files.ts'
import { ask, RawSession } from '../helpers/mcp.ts'
import { root } from '../helpers/program.ts'

const document = readFileSync(join(root, 'docs', 'library.md'), 'utf8')

/** The programs of the document, by the names it gives them. */
const programs = new Map(
  Array.from(document.matchAll(/^```ts (\S+)\n(.*?)^```$/gms), ([, name = '', text = '']) => [
    name,
    text,
  ]),
)

/** Without what would change a program's decisions; children find the Node of this process first. */
function childEnv(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { SERVICE_MCP_API_KEY: _, NODE_OPTIONS: __, ...env } = process.env
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  return {
    ...env,
    PATH: path,
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    ...more,
  }
}

function run(command: string, args: readonly string[], cwd: string): string {
  const options = { cwd, env: childEnv(), encoding: 'utf8', timeout: 120_000 } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  const said = `${command} ${args.join(' ')}: ${error?.message ?? ''}\n${stdout}\n${stderr}`
  expect(status, said).to.equal(0)
  return stdout
}

/** Packs this checkout and installs it, with the programs of the document, in `folder`. Returns the packed paths. */
async function installPackage(folder: string): Promise<string[]> {
  const [report] = JSON.parse(
    run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root),
  )
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']
  run('npm', ['install', ...flags, `./${report.filename}`], folder)
  for (const [name, text] of programs) await writeFile(join(folder, name), text)
  return report.files.map((file: { path: string }) => file.path)
}

/** Runs a program until it has said a line; the check ends with the signal and a clean exit. */
async function running(
  file: string,
  env: Record<string, string>,
  check: (line: string) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [file], {
    cwd: dirname(file),
    env: childEnv({ PORT: '0', ...env }),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  })
  const exited = once(child, 'exit')
  try {
    const lines = createInterface(child.stdout)
    const ended = exited.then(() => Promise.reject(new Error(`${file} ended without a word`)))
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
    await check(line)
  } finally {
    child.kill('SIGINT')
  }
  expect(await exited, 'exit code and signal').to.deep.equal([0, null])
}

const urlIn = (line: string) => /http:\S+\/mcp/.exec(line)?.[0] ?? `no url in ${line}`

describe('the package installed in an empty folder', function () {
  this.timeout(180_000)
  let folder: string
  let packed: string[]
  const leftover = join(root, 'adapters', 'blender', 'service_cli_link', '__pycache__')

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'library-'))
    // As running the add-on from the checkout leaves it.
    await mkdir(leftover, { recursive: true })
    await writeFile(join(leftover, 'left-behind.cpython-311.pyc'), '')
    packed = await installPackage(folder)
  })
  after(async () => {
    await rm(join(leftover, 'left-behind.cpython-311.pyc'), { force: true })
    await rm(folder, { recursive: true, force: true })
  })

  describe('its files', () => {
    const intended =
      /^(dist\/.+\.(js|d\.ts)|dist\/page\/[\w-]+\.(js|css|html|svg|txt)|docs\/(?:[a-z-]+\.(?:md|txt)|three\.html)|adapters\/(blender|python)\/[\w./-]+|adapters\/catalog\.json)$/
    const single = [
      'CHANGELOG.md',
      'README.md',
      'SECURITY.md',
      'bin/run.js',
      'oclif.manifest.json',
      'package.json',
    ]

    it('are only the program, its types and the documents', () => {
      // The time stamp of the build comes along; it is empty.
      const others = packed.filter(path => !intended.test(path))
      expect(others.toSorted()).to.deep.equal(single)
    })

    it('have every declaration that those of the library refer to, and every document', async () => {
      const declarations = packed.filter(path => path.endsWith('.d.ts'))
      expect(declarations).to.include('dist/index.d.ts')
      for (const path of declarations) {
        const text = await readFile(join(folder, 'node_modules', 'service-cli', path), 'utf8')
        for (const [, name = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.ts['"]/g)) {
          expect(packed, path).to.include(join(dirname(path), `${name}.d.ts`))
        }
      }
      const documents = (await readdir(join(root, 'docs'))).filter(name => /\.\w+$/.test(name))
      expect(packed).to.include.members(documents.map(name => `docs/${name}`))
    })

    it('resolve for Node and bundlers, with their types', async () => {
      const [name = ''] = (await readdir(folder)).filter(file => file.endsWith('.tgz'))
      const file = join(folder, name)
      run('npx', ['--no-install', 'publint', '--strict', file], root)
      run('npx', ['--no-install', 'attw', file, '--profile', 'esm-only'], root)
    })

    it('bring at most 140 packages and 31 MB without optional ones', async () => {
      const small = join(folder, 'small')
      await mkdir(small)
      await writeFile(join(small, 'package.json'), '{"private":true}')
      const [name = ''] = (await readdir(folder)).filter(file => file.endsWith('.tgz'))
      const flags = ['--omit=optional', '--no-audit', '--no-fund', '--ignore-scripts']
      run('npm', ['install', ...flags, '--prefer-offline', join('..', name)], small)
      const { packages } = JSON.parse(await readFile(join(small, 'package-lock.json'), 'utf8'))
      const paths = Object.keys(packages).filter(path => path !== '')
      const installed = paths.filter(path => existsSync(join(small, path)))
      expect(installed.length).to.be.within(2, 140)
      let bytes = 0
      for (const entry of await readdir(join(small, 'node_modules'), { recursive: true })) {
        bytes += (await stat(join(small, 'node_modules', entry))).size
      }
      // lru-cache stays at 11.2 for this: later ones bring their code once for each platform, 2.5 MB more.
      expect(bytes).to.be.at.most(31_000_000)
    })

    it('have the adapters, without what Python leaves beside them', async () => {
      const adapters = packed.filter(path => path.startsWith('adapters/'))
      expect(adapters).to.include.members([
        'adapters/blender/service_cli_link/__init__.py',
        'adapters/python/README.md',
        'adapters/python/service_host_link/__init__.py',
      ])
      expect(adapters.filter(path => /__pycache__|\.py[co]$|\/tests?\/|\/\./.test(path))).to.be
        .empty
    })

    it('name no path of the machine that packed them', async () => {
      const installed = join(folder, 'node_modules', 'service-cli')
      for (const path of packed) {
        const text = await readFile(join(installed, path), 'utf8')
        expect(text, path).not.to.include(root.slice(0, -1))
        expect(text, path).not.to.include('sourceMappingURL')
      }
    })
  })

  it('installs beside a checkout by the lines of docs/library.md', async () => {
    const checkout = join(folder, 'beside', 'service-cli')
    const app = join(folder, 'beside', 'app')
    await Promise.all([checkout, app].map(path => mkdir(path, { recursive: true })))
    const [name = ''] = (await readdir(folder)).filter(file => file.endsWith('.tgz'))
    await copyFile(join(folder, name), join(checkout, name))
    const lines = /^```sh setup\n(.*?)^```$/ms.exec(document)?.[1] ?? 'no lines'
    run('sh', ['-e', '-c', lines], app)
    const settings = /^```json tsconfig.json\n(.*?)^```$/ms.exec(document)?.[1] ?? 'no settings'
    await writeFile(join(app, 'tsconfig.json'), settings)
    for (const [file, text] of programs) await writeFile(join(app, file), text)
    expect(run('npx', ['--no-install', 'tsc'], app)).to.equal('')
    await running(join(app, 'minimal.ts'), {}, async line => {
      expect(await (await RawSession.open(urlIn(line))).readJson('scene://current')).to.deep.equal({
        objects: [{ name: 'Cube' }],
      })
    })
  })

  it('says what is missing for PostgreSQL without its driver', () => {
    const database = 'postgres://registry@127.0.0.1:1/accounts'
    const words = ['registry', '--data-dir', join(folder, 'data'), '--database', database]
    const { status, stderr } = spawnSync('npx', ['--no-install', 'service-cli', ...words], {
      cwd: folder,
      env: childEnv(),
      encoding: 'utf8',
    })
    expect(status).to.not.equal(0)
    expect(stderr).to.contain('the package pg').and.contain('npm install --global pg')
  })

  it('writes complete adapters', async () => {
    const adapters = join(root, 'adapters')
    const source = join(adapters, 'blender', 'service_cli_link')
    const said = run('npx', ['--no-install', 'service-cli', 'adapter', 'blender'], folder)
    const zip = /^wrote (service-cli-blender-\S+\.zip) /.exec(said)?.[1]
    const entries = unzipSync(await readFile(join(folder, zip ?? 'no name')))
    const expected = packed
      .filter(path => path.startsWith('adapters/blender/service_cli_link/'))
      .map(path => path.slice('adapters/blender/'.length))
    const client = 'service_cli_link/service_host_link/'
    const modules = (await readPythonClient()).map(({ path }) => client + path)
    expect(Object.keys(entries)).to.deep.equal([...expected, ...modules].toSorted())
    for (const [path, bytes] of Object.entries(entries)) {
      const folder = path.startsWith(client) ? 'python' : 'blender'
      const original = path.replace('service_cli_link/service_host_link', 'service_host_link')
      expect(Buffer.from(bytes), path).to.deep.equal(
        await readFile(join(adapters, folder, original)),
      )
    }
    // What the add-on is called there is what people are told to look for.
    const init = await readFile(join(source, '__init__.py'), 'utf8')
    const name = /"name": "([^"]+)"/.exec(init)?.[1]
    expect(said).to.contain(`enable "${name}"`)

    run('npx', ['--no-install', 'service-cli', 'adapter', 'python', '--out', 'link'], folder)
    for (const { path, bytes } of await readPythonClient()) {
      expect(await readFile(join(folder, 'link', path))).to.deep.equal(bytes)
    }
  })

  it('links an application in JavaScript, with a client that imports nothing', async () => {
    const client = join(folder, 'node_modules', 'service-cli', 'dist', 'host-client.js')
    expect(await readFile(client, 'utf8')).not.to.match(/^import |import\(|^export .* from /m)
    expect(await readFile(client.replace(/js$/, 'd.ts'), 'utf8')).to.contain('class HostClient')
    const guide = await readFile(join(root, 'docs', 'host-link.md'), 'utf8')
    const [, text = ''] = /^```js viewer.mjs\n(.*?)^```$/ms.exec(guide) ?? []
    const SERVICE_HOST_TOKEN = 'a-token-of-this-test'
    const data = join(folder, 'serve-data')
    await mkdir(data, { mode: 0o700 })
    const serve = spawn(
      process.execPath,
      [
        join(folder, 'node_modules', 'service-cli', 'bin', 'run.js'),
        ...['serve', '--json', '--port', '0', '--registry-dir', data],
      ],
      { env: childEnv({ SERVICE_HOST_TOKEN }), stdio: ['ignore', 'pipe', 'ignore'] },
    )
    try {
      const [line] = await once(createInterface(serve.stdout), 'line')
      const { url, host_url } = JSON.parse(line)
      const program = text.replace('new HostClient({', `new HostClient({ url: '${host_url}',`)
      await writeFile(join(folder, 'viewer.mjs'), program)
      const { status, stderr } = spawnSync(process.execPath, [join(folder, 'viewer.mjs')], {
        env: childEnv({ SERVICE_HOST_TOKEN }),
        encoding: 'utf8',
        timeout: 20_000,
      })
      expect(status, stderr).to.equal(0)
      const session = await RawSession.open(url)
      expect((await session.readJson('scene://current')).objects[0]).to.include({ id: 'cube' })
      const { entries } = await session.readJson('audit://recent')
      expect(entries[0]).to.include({ action: 'view.open' })
    } finally {
      serve.kill()
    }
  })

  it('serves from plain JavaScript, and keeps the globals of Node', async () => {
    const program = `
      import { McpHttpServer } from 'service-cli'
      const globals = [Request, Response]
      const server = new McpHttpServer()
      const { url } = await server.start()
      const { status } = await fetch(new URL('/readyz', url))
      await server.stop()
      console.log(status, globals[0] === Request && globals[1] === Response)`
    await writeFile(join(folder, 'plain.mjs'), program)
    expect(run(process.execPath, ['plain.mjs'], folder)).to.equal('200 true\n')
  })

  describe('the programs of docs/library.md', () => {
    const file = (name: string) => join(folder, name)

    it('are all tested here', () => {
      const names = ['minimal.ts', 'state.ts', 'policy.ts', 'embedded.ts']
      expect([...programs.keys()]).to.deep.equal(names)
    })

    it('minimal.ts serves its scene', () =>
      running(file('minimal.ts'), {}, async line => {
        const session = await RawSession.open(urlIn(line))
        expect(await session.readJson('scene://current')).to.deep.equal({
          objects: [{ name: 'Cube' }],
        })
        const events = await session.listen()
        expect(events.ended).to.equal(false)
      }))

    it('state.ts serves every kind of state', async () => {
      const data = join(folder, 'data')
      await mkdir(data, { mode: 0o700 })
      await running(file('state.ts'), { DATA_DIR: data }, async line => {
        const session = await RawSession.open(urlIn(line))
        const scene = await session.readJson('scene://current')
        expect(scene.objects).to.deep.equal([{ id: 'Cube', visible: false }])
        const { entries } = await session.readJson('audit://recent')
        expect(entries[0]).to.include({ action: 'mesh.create', actor: 'claude' })
        const { events } = await session.readJson('events://session/render-12')
        expect(events[0]).to.include({ source: 'farm', job_id: 'render-12' })
        const uri = /artefact:\S+/.exec(line)?.[0]
        const artefact = await session.call('resources/read', { uri })
        expect(atob(artefact.result.contents[0].blob)).to.equal('frame one')
        const guide = await session.call('resources/read', { uri: 'guide://rig' })
        expect(guide.result.contents[0].text).to.equal('# How the new rig works')
      })
    })

    it('policy.ts separates its users', () =>
      running(file('policy.ts'), {}, async line => {
        const ada = { Authorization: 'Bearer token-of-ada' }
        const session = await RawSession.open(urlIn(line), '2025-11-25', ada)
        const grace = { Authorization: 'Bearer token-of-grace' }
        const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
        expect((await session.post(ping)).status).to.equal(200)
        expect((await session.post(ping, grace)).status).to.equal(404)
        expect((await session.post(ping, { Authorization: 'Bearer x' })).status).to.equal(401)
      }))

    it('embedded.ts serves its own page and /mcp', () =>
      running(file('embedded.ts'), {}, async line => {
        const { port } = JSON.parse(line.slice(line.indexOf('{')))
        const base = `http://127.0.0.1:${port}`
        // A connection that is kept open would keep the embedding server, not this one, waiting.
        const page = await ask(base, { headers: { Connection: 'close' } })
        expect(page.text).to.equal('the page of the studio')
        const close = { Connection: 'close' }
        const session = await RawSession.open(`${base}/mcp`, '2025-11-25', close)
        expect(await session.readJson('audit://recent')).to.include({ count: 0 })
        const events = await session.listen()
        expect(events.ended).to.equal(false)
      }))
  })
})
