import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import type { TlsPair } from '../../../src/server/http/read-pair.ts'
import { TlsSource } from '../../../src/server/http/tls-source.ts'
import { makePair, type PairOptions, writePair } from '../../helpers/certificate.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import { skipBecause } from '../../helpers/skip.ts'

const pollMs = 3_600_000

describe('a certificate and its key', () => {
  let folder: string
  let source: TlsSource | null = null
  let log: ReturnType<typeof recordingLog>
  let files: { certFile: string; keyFile: string }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tls-'))
    log = recordingLog()
    files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  })
  afterEach(async () => {
    source?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const put = (options?: PairOptions) => writePair(folder, makePair(options))

  async function open(): Promise<{ source: TlsSource; changes: TlsPair[] }> {
    const opened = await TlsSource.open(files, { pollMs, log })
    source = opened
    const changes: TlsPair[] = []
    opened.onChange(pair => changes.push(pair))
    return { source: opened, changes }
  }

  const told = (level: string) => log.lines.filter(line => line.level === level)

  describe('are refused at the start', () => {
    const other = makePair()
    const cases: [why: string, spoil: () => Promise<unknown>, says: RegExp][] = [
      ['no certificate', () => rm(files.certFile), /^--tls-cert \S+ cannot be read: no such file$/],
      ['a folder', () => rm(files.keyFile).then(() => mkdir(files.keyFile)), /not a regular file/],
      ['an empty certificate', () => truncate(files.certFile), /cert\.pem.*PEM/],
      ['half a key', () => truncate(files.keyFile, 100), /key\.pem: ./],
      [
        'the key of another',
        () => writeFile(files.keyFile, other.key),
        /^--tls-key \S+ is not the key of --tls-cert \S+$/,
      ],
      ['an encrypted key', () => writeFile(files.keyFile, encryptedKey()), /key\.pem: ./],
      ['too much', () => truncate(files.certFile, 2 ** 21), /larger than 1048576 bytes$/],
    ]
    for (const [why, spoil, says] of cases) {
      it(`with a message that names the file: ${why}`, async () => {
        await put()
        await spoil()
        const failure: unknown = await open().catch((error: unknown) => error)
        expect(failure).to.be.instanceOf(ServiceError)
        expect(failure).to.include({ code: 'config_invalid' })
        expect((failure as ServiceError).message).to.match(says)
        expect((failure as ServiceError).hint).to.include('without a pass phrase')
      })
    }
  })

  it('are replaced when both files are new, and only then', async () => {
    await put()
    const { source, changes } = await open()
    await source.refresh()
    expect(changes).to.deep.equal([])
    const next = makePair()
    await writePair(folder, next)
    await source.refresh()
    expect(changes.map(({ cert }) => String(cert))).to.deep.equal([next.cert])
    expect(String(source.pair.key)).to.equal(next.key)
    expect(told('info').map(({ text }) => text)).to.match(/the certificate was replaced/)
  })

  it('stay while only one of the two is new, which is said once and not at the first look', async () => {
    await put()
    const { source, changes } = await open()
    const next = makePair()
    await writeFile(files.certFile, next.cert)
    await source.refresh()
    expect(told('error')).to.deep.equal([])
    for (let look = 0; look < 4; look++) await source.refresh()
    expect(told('error')).to.have.length(1)
    expect(told('error')[0]?.text).to.match(/^the old certificate stays in use .*is not the key of/)
    expect(changes).to.deep.equal([])
    await writeFile(files.keyFile, next.key)
    await source.refresh()
    expect(changes.map(({ cert }) => String(cert))).to.deep.equal([next.cert])
  })

  it('stay while a file is half-written or gone, and the next good ones are taken', async () => {
    const first = makePair()
    await writePair(folder, first)
    const { source, changes } = await open()
    await writeFile(files.certFile, first.cert.slice(0, 200))
    await source.refresh()
    await writeFile(files.certFile, first.cert)
    await rename(files.certFile, `${files.certFile}.away`)
    await source.refresh()
    await rename(`${files.certFile}.away`, files.certFile)
    await source.refresh()
    expect(changes).to.deep.equal([])
    expect(String(source.pair.cert)).to.equal(first.cert)
    const next = makePair()
    await writePair(folder, next)
    await source.refresh()
    expect(changes).to.have.length(1)
  })

  it('are followed over symbolic links that are swapped', async () => {
    const [old, next] = [makePair(), makePair()]
    for (const [name, pair] of Object.entries({ old, next })) {
      await mkdir(join(folder, name))
      await writePair(join(folder, name), pair)
    }
    // As Kubernetes does: the files lead over one link, which is replaced.
    await symlink('old', join(folder, 'data'))
    await symlink('data/cert.pem', files.certFile)
    await symlink('data/key.pem', files.keyFile)
    const { source, changes } = await open()
    await symlink('next', join(folder, 'data.new'))
    await rename(join(folder, 'data.new'), join(folder, 'data'))
    await source.refresh()
    expect(changes.map(({ cert }) => String(cert))).to.deep.equal([next.cert])
  })

  it('are looked at by themselves', async () => {
    await put()
    source = await TlsSource.open(files, { pollMs: 5, log })
    const opened = source
    const replaced = new Promise<void>(resolve => void opened.onChange(() => resolve()))
    await put()
    await replaced
  })

  it('that have expired, or are not valid yet, are served with one warning', async () => {
    const until = new Date(Date.now() + 60_000)
    await put({ until })
    let nowMs = Date.now()
    source = await TlsSource.open(files, { log, clock: { now: () => nowMs } })
    await source.refresh()
    expect(told('warn')).to.deep.equal([])
    nowMs += 61_000
    for (let look = 0; look < 3; look++) await source.refresh()
    expect(told('warn')).to.have.length(1)
    expect(told('warn')[0]?.text).to.contain('has expired').and.contain(until.getUTCFullYear())
    await put({ from: new Date('2999-01-01T00:00:00Z'), until: new Date('3000-01-01T00:00:00Z') })
    await source.refresh()
    expect(told('warn')[1]?.text).to.match(/not valid yet.*"from":"2999-01-01T00:00:00.000Z"/)
  })

  it('warn when other accounts can read the key', async function () {
    if (process.platform === 'win32') skipBecause(this, 'Windows has no file modes')
    await put()
    await open()
    expect(told('warn')).to.deep.equal([])
    source?.close()
    await chmod(files.keyFile, 0o644)
    await open()
    expect(
      told('warn')
        .map(({ text }) => text)
        .join(),
    ).to.match(/other accounts.*"mode":"0644"/)
  })
})

function encryptedKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const form = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  return String(privateKey.export(form))
}
