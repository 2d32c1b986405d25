import { expect } from 'chai'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readClientKeys, updateClientKeys } from '../../src/lib/auth/client-keys.ts'
import { hashOfSecret } from '../../src/lib/util/secret.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'
import { type CommandOptions, runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'

describe('service-cli keys', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = newFolder()
    path = join(folder, '.config/service-cli/client-keys.json')
  })

  const run = (words: string[], options: CommandOptions = {}) =>
    runCommand(['keys', ...words], { env: cleanEnv({ HOME: folder }), ...options })
  const keys = (...words: string[]) => run(words)
  const json = async (...words: string[]) => JSON.parse((await keys(...words, '--json')).stdout)
  const codeOf = async (...words: string[]) => (await json(...words)).error.code

  it('shows a key once, alone on stdout, and keeps its hash alone', async () => {
    const { stdout, stderr } = await keys('create', 'anna')
    expect(stdout).to.match(/^smk_[A-Za-z0-9_-]{43}\n$/)
    expect(stderr).to.contain('"anna" (write) lasts until it is revoked')
    expect(stderr).to.contain('Authorization: Bearer <key>').and.contain('SERVICE_MCP_API_KEY')
    expect(stderr).to.contain('all servers of your account ask clients for a key from now on')
    const key = stdout.trim()
    const written = await readFile(path, 'utf8')
    expect(written).to.contain(hashOfSecret(key))
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    expect((await keys('create', 'ben')).stderr).not.to.contain('from now on')
    const list = await keys('list')
    expect(written + stderr + list.stdout + list.stderr).not.to.contain(key)
  })

  it('says it as JSON', async () => {
    const made = await json('create', 'ben', '--read-only')
    expect(made).to.include({ name: 'ben', scope: 'read', expires_at: null, file: path })
    expect(made.key).to.match(/^smk_/)
    const { created_at } = made
    const listed = { name: 'ben', scope: 'read', created_at, expires_at: null }
    expect(await json('list')).to.deep.equal({ file: path, required: true, keys: [listed] })
    const revoked = { name: 'ben', revoked: true, left: 0 }
    expect(await json('revoke', 'ben', '--yes')).to.deep.equal(revoked)
    expect(await json('off')).to.deep.equal({ open: true, revoked: 0, file: path })
    expect(await json('list')).to.deep.equal({ file: path, required: false, keys: [] })
  })

  it('names the running servers that need the first key, and no others', async () => {
    const serve = await serveInProcess({ registryDir: folder, flags: ['--name', 'Shot 042'] })
    const gateway = gatewayInProcess({ port: 0, registryDir: folder })
    const { url } = await gateway.line('listening')
    const env = cleanEnv({ HOME: folder, SERVICE_REGISTRY_DIR: folder })
    const { stderr } = await run(['create', 'anna'], { env })
    expect(stderr).to.contain(`Shot 042: ${serve.url}`).and.contain(`gateway: ${url}`)
    expect((await run(['create', 'ben'], { env })).stderr).not.to.contain(serve.url)
    const named = await run(['create', 'cleo', '--keys-file', join(folder, 'own/keys.json')], {
      env,
    })
    expect(named.stderr).to.contain('servers with this --keys-file').and.not.contain(serve.url)
  })

  it('gives a key an end where one is given', async () => {
    const { created_at, expires_at } = await json('create', 'anna', '--expires-in', '30d')
    const lifeMs = Date.parse(expires_at) - Date.parse(created_at)
    expect(lifeMs).to.be.closeTo(30 * 86_400_000, 1000)
    await keys('create', 'ben')
    const { stdout } = await keys('list')
    expect(stdout).to.match(/anna +write .*expires in/)
    expect(stdout).to.match(/ben +write .*lasts until it is revoked/)
    for (const word of ['0d', '30', '-1d', '1.5h', '1y', '99999d']) {
      expect(await codeOf('create', 'cleo', `--expires-in=${word}`), word).to.equal('usage_invalid')
    }
  })

  it('refuses a name that is taken, one that is none, and one that no key has', async () => {
    await keys('create', 'anna')
    expect(await codeOf('create', 'anna')).to.equal('entry_exists')
    for (const name of ['a b', '../x', 'ä', 'x'.repeat(65), `smk_${'x'.repeat(43)}`]) {
      expect(await codeOf('create', name), name).to.equal('usage_invalid')
    }
    expect(await codeOf('revoke', 'ben')).to.equal('request_refused')
    expect((await readClientKeys(path))?.keys).to.have.lengthOf(1)
  })

  it('asks before the last key is revoked, and says what follows', async () => {
    await keys('create', 'anna')
    await keys('create', 'ben')
    expect((await keys('revoke', 'anna')).stderr).not.to.contain('keys off')
    const unasked = await keys('revoke', 'ben')
    expect(unasked.code).to.equal(2)
    expect(unasked.stderr).to.contain('stdin is not a terminal').and.contain('--yes')
    const no = await run(['revoke', 'ben'], { typed: [{ await: 'Revoke it?', send: 'n\r' }] })
    expect(no.code).not.to.equal(0)
    expect(no.stderr).to.contain('servers refuse every client')
    expect((await readClientKeys(path))?.keys).to.have.lengthOf(1)
    const yes = await run(['revoke', 'ben'], { typed: [{ await: 'Revoke it?', send: 'y\r' }] })
    expect(yes.stderr).to.contain('it was the last one').and.contain('keys off')
    expect(await readClientKeys(path)).to.deep.equal({ keys: [] })
    expect((await keys('list')).stderr).to.contain('no client gets in')
  })

  it('returns to no keys with off, after a confirmation when there are some', async () => {
    await keys('create', 'anna')
    const unasked = await keys('off')
    expect(unasked.stderr).to.contain('--yes').and.contain('add --yes')
    expect((await readClientKeys(path))?.keys).to.have.lengthOf(1)
    expect((await keys('off', '--yes')).stderr).to.contain('clients need no key from now on')
    expect(await readClientKeys(path)).to.deep.equal({ open: true, keys: [] })
    expect((await keys('list')).stderr).to.contain('none is needed')
    await keys('create', 'ben')
    expect(await readClientKeys(path)).not.to.have.property('open')
  })

  it('loses no key of many that are made at the same time', async () => {
    const names = Array.from({ length: 8 }, (_, at) => `key-${at}`)
    const entryOf = (name: string) => ({
      name,
      sha256: hashOfSecret(name),
      scope: 'read' as const,
      created_at: '2026-01-01T00:00:00.000Z',
    })
    await mkdir(join(folder, '.config/service-cli'), { recursive: true, mode: 0o700 })
    const add = (name: string) =>
      updateClientKeys(path, now => ({ keys: [...now.keys, entryOf(name)] }))
    await Promise.all(names.map(add))
    const kept = (await readClientKeys(path))?.keys ?? []
    expect(kept.map(({ name }) => name).toSorted()).to.deep.equal(names)
  })

  const key = `{"name":"a","sha256":"${'0'.repeat(64)}","scope":"read","created_at":"2026-01-01T00:00:00Z"`
  const write = (text: string) => writeFile(path, text, { mode: 0o600 })
  const unusable: [what: string, spoil: () => Promise<unknown>, message: string][] = [
    ['no JSON', () => write('{'), 'damaged'],
    ['without keys', () => write('{}'), 'damaged'],
    ['with a member that is unknown', () => write(`{"keys":[${key},"only":"x"}]}`), 'damaged'],
  ]
  for (const [what, spoil, message] of unusable) {
    it(`refuses a file that is ${what}, and leaves it as it is`, async () => {
      await mkdir(join(folder, '.config/service-cli'), { recursive: true, mode: 0o700 })
      await spoil()
      for (const words of [['list'], ['create', 'x']]) {
        const { error } = await json(...words)
        expect(error.code).to.equal('config_invalid')
        expect(error.message).to.contain(path).and.contain(message)
      }
    })
  }
})
