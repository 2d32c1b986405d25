import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const root = fileURLToPath(new URL('../..', import.meta.url))

function run(args: string[], ci = ''): { code: number | null; lines: string[] } {
  const { MOCHA_OPTIONS: _, TEST_TIMES_FILE: _times, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    env: { ...env, CI: ci },
    encoding: 'utf8',
  })
  return { code: status, lines: stdout.trimEnd().split('\n') }
}

describe('the closing line of a CI run', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'service-cli-ci-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function suite(name: string, code: number, summary?: object): void {
    writeFileSync(join(folder, `${name}.code`), `${code}\n`)
    if (summary !== undefined) writeFileSync(join(folder, `${name}.json`), JSON.stringify(summary))
  }
  const summarise = (ci?: string) => run(['scripts/ci-summary.js', folder], ci)
  const skipped = [{ title: 'blender', reason: 'not installed' }]

  it('adds up the suites', () => {
    suite('install', 0)
    suite('test', 0, { passed: 40, failed: 0, skipped: [] })
    suite('apps', 0, { passed: 2, failed: 0, skipped: [] })
    expect(summarise()).to.deep.equal({ code: 0, lines: ['42 passed, 0 failed'] })
  })

  it('fails when a test failed', () => {
    suite('test', 3, { passed: 40, failed: 3, skipped: [] })
    expect(summarise()).to.deep.equal({ code: 1, lines: ['40 passed, 3 failed'] })
  })

  it('says at the end what failed, and how', () => {
    const error = `Error: on purpose\n${'  at somewhere\n'.repeat(100)}`
    suite('test', 1, { passed: 1, failed: 1, skipped: [], failures: [{ title: 'a b', error }] })
    suite('apps', 0, { passed: 2, failed: 0, skipped: [] })
    const { lines } = summarise()
    expect(lines.slice(0, 2)).to.deep.equal(['test failed: a b', '    Error: on purpose'])
    expect(lines.slice(-2)).to.deep.equal(['    …', '3 passed, 1 failed'])
    expect(lines).to.have.length(33)
  })

  it('counts a step that failed without a failing test', () => {
    suite('test', 2)
    suite('clients', 7, { passed: 5, failed: 0, skipped: [] })
    const { code, lines } = summarise()
    expect(code).to.equal(1)
    expect(lines).to.include('test failed with exit code 2')
    expect(lines.at(-1)).to.equal('5 passed, 2 failed')
  })

  it('names what was skipped', () => {
    suite('apps', 0, { passed: 1, failed: 0, skipped })
    expect(summarise()).to.deep.equal({
      code: 0,
      lines: ['apps skipped: blender: not installed', '1 passed, 0 failed, 1 skipped'],
    })
  })

  it('counts what was skipped as failed in CI', () => {
    suite('apps', 0, { passed: 1, failed: 0, skipped })
    const { code, lines } = summarise('true')
    expect(code).to.equal(1)
    expect(lines).to.deep.equal([
      'apps skipped (a failure in CI): blender: not installed',
      '1 passed, 1 failed',
    ])
  })

  const modes = { 'one process': [], workers: ['--parallel', '--jobs', '2'] }
  for (const [name, mode] of Object.entries(modes)) {
    it(`is fed by the reporter of ${name}, with the reasons of skipped tests`, () => {
      const helper = JSON.stringify(join(root, 'test/helpers/skip.ts'))
      const file = join(folder, 'sample.test.ts')
      writeFileSync(
        file,
        `import { skipBecause } from ${helper}
      it('passes', () => {})
      it('fails', () => { throw new Error('on purpose') })
      it('is skipped', function () { skipBecause(this, 'no tool') })
      describe('a suite', () => {
        before(function () { skipBecause(this, 'no display') })
        it('never runs', () => {})
      })`,
      )
      // With a single file there are no workers.
      const empty = join(folder, 'empty.test.ts')
      writeFileSync(empty, '')
      const summary = join(folder, 'sample.json')
      const reporter = ['--reporter', './scripts/test-reporter.js', '--reporter-option']
      const mocha = join(root, 'node_modules/mocha/bin/mocha.js')
      const { code } = run([
        mocha,
        '--no-config',
        ...reporter,
        `summary=${summary}`,
        ...mode,
        file,
        empty,
      ])
      expect(code).to.equal(1)
      const { failures, ...counts } = JSON.parse(readFileSync(summary, 'utf8')) as {
        failures: { title: string; error: string }[]
      }
      expect(failures.map(({ title }) => title)).to.deep.equal(['fails'])
      expect(failures[0]?.error).to.include('Error: on purpose').and.to.include('sample.test.ts')
      expect(counts).to.deep.equal({
        passed: 1,
        failed: 1,
        skipped: [
          { title: 'is skipped', reason: 'no tool' },
          { title: 'a suite never runs', reason: 'no display' },
        ],
      })
    })
  }

  it('counts a rejection that nothing handled, in each file of a worker', () => {
    const files = ['a', 'b', 'c', 'd'].map(name => join(folder, `${name}.test.ts`))
    for (const file of files) {
      writeFileSync(file, "it('passes', () => void Promise.reject(new Error('left behind')))")
    }
    const mocha = join(root, 'node_modules/mocha/bin/mocha.js')
    const guard = ['--require', './test/helpers/suite-setup.ts', '--parallel', '--jobs', '2']
    const { code, lines } = run([mocha, '--no-config', ...guard, ...files])
    expect(code).to.equal(4)
    expect(lines.filter(line => line.includes('not handled: Error: left behind'))).to.have.length(4)
  })
})

describe('a CI run', () => {
  const read = (name: string) => readFileSync(join(root, name), 'utf8')

  it('runs every folder that npm test leaves out', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const { ignore } = JSON.parse(read('.mocharc.json')) as { ignore: string[] }
    const lanes = Array.from(read('.ci/run').matchAll(/suites ([a-z ]+)/g), ([, names]) => names)
    const run = lanes.flatMap(names => names?.split(' ') ?? []).map(name => scripts[`test:${name}`])
    const isRun = (folder: string) => run.some(command => command?.includes(folder))
    expect(ignore.map(each => each.replace('**', '')).filter(each => !isRun(each))).to.deep.equal(
      [],
    )
  })
})
