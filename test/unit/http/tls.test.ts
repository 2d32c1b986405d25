import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { followPair, readPair } from '../../../src/server/http/tls.ts'
import { makePair, writePair } from '../../helpers/certificate.ts'
import { failureOf } from '../../helpers/failure.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { until } from '../../helpers/until.ts'

describe('a certificate and its key', () => {
  let folder: string
  let log: ReturnType<typeof recordingLog>
  let files: { certFile: string; keyFile: string }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tls-'))
    log = recordingLog()
    files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const put = () => writePair(folder, makePair())
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
        /^--tls-cert \S+ with --tls-key \S+: .*key values mismatch/,
      ],
      ['an encrypted key', () => writeFile(files.keyFile, encryptedKey()), /key\.pem: ./],
      ['too much', () => truncate(files.certFile, 2 ** 21), /larger than 1048576 bytes$/],
    ]
    for (const [why, spoil, says] of cases) {
      it(`with a message that names the file: ${why}`, async () => {
        await put()
        await spoil()
        const failure = await failureOf(() => readPair(files, log))
        expect(failure.code).to.equal('config_invalid')
        expect(failure.message).to.match(says)
        expect(failure.hint).to.include('without a pass phrase')
      })
    }
  })

  describe('are followed', () => {
    /** Certificates that the server was given, newest last. */
    let used: string[]
    let stop: () => void

    async function follow(): Promise<void> {
      const server: Server = createServer(await readPair(files, log))
      used = []
      server.setSecureContext = ({ cert }) => void used.push(String(cert))
      stop = followPair(files, server, log)
    }
    afterEach(() => stop())

    it('while only one of the two is new the old one stays, which is logged', async () => {
      await put()
      await follow()
      const next = makePair()
      await writeFile(files.certFile, next.cert)
      await until(() => told('error').length > 0, 'the log')
      expect(told('error')[0]?.text).to.match(
        /^the old certificate stays in use .*key values mismatch/,
      )
      expect(used).to.deep.equal([])
      await writeFile(files.keyFile, next.key)
      await until(() => used.length > 0, 'the new pair')
      expect(used).to.deep.equal([next.cert])
    })

    it('over symbolic links that are swapped', async () => {
      const [old, next] = [makePair(), makePair()]
      for (const [name, pair] of Object.entries({ old, next })) {
        await mkdir(join(folder, name))
        await writePair(join(folder, name), pair)
      }
      // As Kubernetes does: the files lead over one link, which is replaced.
      await symlink('old', join(folder, 'data'))
      await symlink('data/cert.pem', files.certFile)
      await symlink('data/key.pem', files.keyFile)
      await follow()
      await symlink('next', join(folder, 'data.new'))
      await rename(join(folder, 'data.new'), join(folder, 'data'))
      await until(() => used.length > 0, 'the new pair')
      expect(used[0]).to.equal(next.cert)
    })
  })

  it('warn when other accounts can read the key', async function () {
    if (process.platform === 'win32') skipBecause(this, 'Windows has no file modes')
    await put()
    await readPair(files, log)
    expect(told('warn')).to.deep.equal([])
    await chmod(files.keyFile, 0o644)
    await readPair(files, log)
    expect(told('warn')[0]?.text).to.match(/other accounts.*"mode":"0644"/)
  })
})

function encryptedKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const form = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  return String(privateKey.export(form))
}
