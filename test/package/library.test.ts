import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { readPythonClient } from '../../src/lib/util/adapter-files.ts'
import { RawSession } from '../helpers/mcp.ts'
import {
  childEnv,
  document,
  installPackage,
  programs,
  root,
  run,
  running,
  urlIn,
} from './installed.ts'

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
      /^(dist\/.+\.(js|d\.ts)|dist\/page\/[\w-]+\.(js|css|html|svg|txt)|docs\/[a-z-]+\.md|docs\/images\/[a-z-]+\.png|adapters\/(blender|python)\/[\w./-]+|adapters\/catalog\.json)$/
    const single = ['CHANGELOG.md', 'README.md', 'SECURITY.md', 'bin/run.js', 'package.json']

    it('are only the program, its types and the documents', () => {
      // The time stamp of the build comes along; it is empty.
      const others = packed.filter(path => !intended.test(path))
      expect(others.toSorted()).to.deep.equal(single)
    })

    it('have a type declaration for every module, and every document of the repository', async () => {
      const modules = packed.filter(path => /^dist\/(?!page\/).*\.js$/.test(path))
      expect(modules).to.include.members(['dist/index.js', 'dist/main.js'])
      expect(packed).to.include.members(modules.map(path => path.replace(/\.js$/, '.d.ts')))
      const documents = (await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md'))
      expect(packed).to.include.members(documents.map(name => `docs/${name}`))
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
        objects: ['Cube'],
      })
    })
  })

  it('says what is missing for PostgreSQL without its driver', async () => {
    const driver = join(folder, 'node_modules', 'pg')
    await rename(driver, `${driver}-aside`)
    try {
      const database = 'postgres://registry@127.0.0.1:1/accounts'
      const words = ['registry', '--data-dir', join(folder, 'data'), '--database', database]
      const { status, stderr } = spawnSync('npx', ['--no-install', 'service-cli', ...words], {
        cwd: folder,
        env: childEnv(),
        encoding: 'utf8',
      })
      expect(status).to.not.equal(0)
      expect(stderr).to.contain('the package pg').and.contain('npm install pg')
    } finally {
      await rename(`${driver}-aside`, driver)
    }
  })

  it('prints its version', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const said = run('npx', ['--no-install', 'service-cli', '--version'], folder)
    expect(said).to.include(`service-cli/${version} `)
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
    const client = 'service_cli_link/service_host_link.py'
    expect(Object.keys(entries)).to.deep.equal([...expected, client].toSorted())
    for (const [path, bytes] of Object.entries(entries)) {
      const original =
        path === client ? await readPythonClient() : await readFile(join(adapters, 'blender', path))
      expect(Buffer.from(bytes), path).to.deep.equal(original)
    }
    // What the add-on is called there is what people are told to look for.
    const init = await readFile(join(source, '__init__.py'), 'utf8')
    const name = /"name": "([^"]+)"/.exec(init)?.[1]
    expect(said).to.contain(`enable "${name}"`)

    run('npx', ['--no-install', 'service-cli', 'adapter', 'python', '--out', 'link.py'], folder)
    const written = await readFile(join(folder, 'link.py'))
    expect(written).to.deep.equal(await readPythonClient())
  })

  it('has types that a strict program compiles against, with skipLibCheck off', async () => {
    const compilerOptions = {
      module: 'nodenext',
      target: 'esnext',
      lib: ['esnext'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
      skipLibCheck: false,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules', '@types')],
    }
    const settings = { compilerOptions, files: [...programs.keys()] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    expect(run(process.execPath, [tsc, '-p', folder], folder)).to.equal('')
    // A wrong call is an error, so the types above were really looked at.
    await writeFile(
      join(folder, 'wrong.ts'),
      `import { McpHttpServer } from 'service-cli'\nnew McpHttpServer({ port: 'x' })\n`,
    )
    const wrong = { compilerOptions, files: ['wrong.ts'] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(wrong))
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], {
      env: childEnv(),
      encoding: 'utf8',
    })
    expect([status === 0, stdout.includes('wrong.ts(2,')]).to.deep.equal([false, true])
  })

  it('serves from plain JavaScript: list, read, subscribe, and an update that arrives', async () => {
    const program = join(root, 'test', 'package', 'library-program.mjs')
    await copyFile(program, join(folder, 'plain.mjs'))
    const out = run(process.execPath, ['plain.mjs'], folder)
    expect(JSON.parse(out)).to.deep.equal({
      uris: ['scene://current', 'audit://recent', 'events://session/s1', 'memo://1', 'artefact:'],
      memo: 'remember',
      blob: 'aGVsbG8=',
      scene: { frame: 1 },
      subscribed: {},
      update: 'scene://current',
      keepsGlobals: true,
    })
  })
})
