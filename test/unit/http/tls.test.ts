import { generateKeyPairSync } from 'node:crypto'
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import { expect } from 'chai'
import { followPair, readPair } from '../../../src/server/http/tls.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { makePair, writePair } from '../../helpers/certificate.ts'
import { failureOf } from '../../helpers/failure.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import { until } from '../../helpers/until.ts'

describe('a certificate and its key', () => {
  let folder: string
  let log: ReturnType<typeof recordingLog>
  let files: { certFile: string; keyFile: string }

  beforeEach(() => {
    folder = newFolder()
    log = recordingLog()
    files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  })

  const put = () => writePair(folder, makePair())
  const told = (level: string) => log.lines.filter(line => line.level === level)

  describe('are refused at the start', () => {
    const other = makePair()
    const cases: [why: string, spoil: () => Promise<unknown>, says: RegExp][] = [
      [
        'no certificate',
        () => rm(files.certFile),
        /^--tls-cert \S+ cannot be read: no such file or directory$/,
      ],
      [
        'a folder',
        () => rm(files.keyFile).then(() => mkdir(files.keyFile)),
        /key\.pem cannot be read/,
      ],
      ['an empty certificate', () => truncate(files.certFile), /cert\.pem.*PEM/],
      ['half a key', () => truncate(files.keyFile, 100), /key\.pem: ./],
      [
        'the key of another',
        () => writeFile(files.keyFile, other.key),
        /^--tls-cert \S+ with --tls-key \S+: .*key values mismatch/,
      ],
      ['an encrypted key', () => writeFile(files.keyFile, encryptedKey()), /key\.pem: ./],
    ]
    for (const [why, spoil, says] of cases) {
      it(`with a message that names the file: ${why}`, async () => {
        await put()
        await spoil()
        const failure = await failureOf(() => readPair(files))
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
      const server: Server = createServer(await readPair(files))
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
  })
})

function encryptedKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const form = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  return String(privateKey.export(form))
}
