import { expect } from 'chai'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import { PutOptionInvalid } from '../../../../src/server/artefacts/put-options.ts'
import type { ArtefactStore } from '../../../../src/server/artefacts/store.ts'
import {
  ArtefactIntake,
  Upload,
  type UploadParts,
} from '../../../../src/server/host/link/artefact-intake.ts'
import { LinkRefusal } from '../../../../src/server/host/link/failures.ts'
import { sha256 } from '../../artefacts/support.ts'
import { MemoryArtefacts } from '../../../server/host/memory-sink.ts'

const bytes = Buffer.from('abcd')
const KiB = 1024
const hex = sha256(bytes)
const stored = { uri: `artefact://sha256/${hex}`, sha256: hex, existed: false }

type Store = Pick<ArtefactStore, 'put'> | null

describe('ArtefactIntake', () => {
  let store: MemoryArtefacts
  beforeEach(() => (store = new MemoryArtefacts()))

  function create(
    artefacts: Store = store,
    limits: { maxArtefactBytes?: number; maxUploads?: number; bodyTimeoutMs?: number } = {},
  ): ArtefactIntake {
    return new ArtefactIntake({
      store: artefacts,
      limits: { maxArtefactBytes: 8, maxUploads: 4, bodyTimeoutMs: 60_000, ...limits },
      pause: () => {},
      resume: () => {},
    })
  }

  function put(intake: ArtefactIntake, id: string, sizeBytes: number, hash?: string) {
    const options = { mime: 'text/plain' }
    return outcomeOf(intake.put({ type: 'artefact.put', id, sizeBytes, sha256: hash, options }))
  }

  async function outcomeOf(answer: Promise<object>): Promise<object | string> {
    try {
      return await answer
    } catch (error) {
      return error instanceof LinkRefusal ? `${error.code}: ${error.message}` : String(error)
    }
  }

  const givenUp = (why: string) => `mismatch: the artefact is given up: ${why}`

  it('stores what comes in binary frames, one artefact after the other', async () => {
    const intake = create()
    const first = put(intake, '1', 4, hex)
    expect(intake.feed(bytes.subarray(0, 1))).to.equal(null)
    expect(intake.feed(bytes.subarray(1))).to.equal(null)
    const second = put(intake, '2', 3)
    expect(intake.feed(bytes.subarray(1))).to.equal(null)
    expect(await first).to.deep.equal(stored)
    expect(await second).to.have.property('sha256', sha256(bytes.subarray(1)))
    expect(store.stored.get(hex)?.options.mime).to.equal('text/plain')
  })

  it('rejects an unannounced frame and one that is too long', async () => {
    const intake = create()
    expect(intake.feed(bytes)).to.equal('a binary frame came without an artefact.put before it')
    void put(intake, '1', 3)
    expect(intake.feed(bytes)).to.equal('an artefact has more bytes than were announced')
  })

  it('gives up what is aborted, and nothing else', async () => {
    const intake = create()
    const answer = put(intake, '1', 4)
    intake.feed(bytes.subarray(0, 2))
    expect(() => intake.abort('2')).to.throw(LinkRefusal, 'no such artefact')
    expect(intake.abort('1')).to.deep.equal({})
    expect(await answer).to.equal(givenUp('the application gave it up'))
    expect(() => intake.abort('1')).to.throw(LinkRefusal, 'no such artefact')
    expect(store.broken).to.equal(1)
    expect(intake.feed(bytes)).to.contain('without an artefact.put')
  })

  it('does not take back what has all of its bytes', async () => {
    const intake = create()
    const answer = put(intake, '1', 4)
    intake.feed(bytes)
    expect(() => intake.abort('1')).to.throw(LinkRefusal)
    intake.close()
    expect(await answer).to.deep.equal(stored)
  })

  it('passes over the bytes of a put that was no good', () => {
    const intake = create()
    intake.passOver(5)
    expect(intake.feed(Buffer.from('hel'))).to.equal(null)
    expect(intake.feed(Buffer.from('lo'))).to.equal(null)
    expect(intake.feed(Buffer.from('!'))).to.include('without an artefact.put')
  })

  it('gives up when no byte comes, and passes over the rest when it comes after all', async () => {
    const intake = create(store, { bodyTimeoutMs: 20 })
    const answer = put(intake, '1', 4)
    intake.feed(bytes.subarray(0, 1))
    expect(await answer).to.equal('limit: no byte of the artefact came for 20 ms')
    expect(intake.feed(bytes.subarray(1))).to.equal(null)
    expect(intake.feed(bytes)).to.contain('without an artefact.put')
  })

  const failing = (error: unknown): Store => ({ put: () => Promise.reject(error) })
  const refusals: [store: () => Store, size: number, answer: string][] = [
    [() => null, 4, 'unsupported: artefacts are switched off on this server'],
    [() => store, 9, 'limit: the artefact has 9 bytes, at most 8 bytes are taken'],
    [
      () => failing(new PutOptionInvalid('displayName', 'must be short')),
      4,
      'invalid: /display_name must be short',
    ],
    [() => failing(new ServiceError('artefact_too_large', 'too large')), 4, 'limit: too large'],
    [() => failing(new Error('odd')), 4, 'Error: odd'],
  ]
  for (const [storeOf, size, expected] of refusals) {
    it(`answers "${expected}", passes over the bytes and takes the next one`, async () => {
      const intake = create(storeOf())
      const answer = put(intake, '1', size)
      expect(await answer).to.equal(expected)
      expect(intake.feed(Buffer.alloc(size - 1))).to.equal(null)
      expect(intake.feed(Buffer.alloc(1))).to.equal(null)
      expect(intake.feed(Buffer.alloc(1))).to.contain('without an artefact.put')
    })
  }

  it('holds the application up until every artefact has room again', async () => {
    const reads = new Map<string, () => Promise<unknown>>()
    const waiting: Store = {
      put: (source, { mime = '' } = {}) => {
        const pieces = (source as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
        reads.set(mime, () => pieces.next())
        return new Promise(() => {})
      },
    }
    const news: string[] = []
    const intake = new ArtefactIntake({
      store: waiting,
      limits: { maxArtefactBytes: 0, maxUploads: 4, bodyTimeoutMs: 60_000 },
      pause: () => void news.push('pause'),
      resume: () => void news.push('resume'),
    })
    const size = 4 * 1024 * 1024
    for (const mime of ['a/a', 'b/b']) {
      // What was read together with the end of the first one is handled, although it pauses.
      void intake.put({
        type: 'artefact.put',
        id: mime,
        sizeBytes: size,
        sha256: undefined,
        options: { mime },
      })
      intake.feed(Buffer.alloc(size / 2))
      intake.feed(Buffer.alloc(size / 2))
    }
    expect(news).to.deep.equal(['pause'])
    for (const mime of ['a/a', 'b/b']) {
      expect(news).to.deep.equal(['pause'])
      await reads.get(mime)?.()
      await reads.get(mime)?.()
    }
    expect(news).to.deep.equal(['pause', 'resume'])
  })

  it('has no more artefacts stored at once than uploads may run', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Store = {
      put: async (source, options) => {
        await gate.promise
        return store.put(source as AsyncIterable<Uint8Array>, options)
      },
    }
    const intake = create(slow, { maxUploads: 2 })
    const answers = ['1', '2', '3'].map(id => {
      const answer = put(intake, id, 4)
      expect(intake.feed(bytes)).to.equal(null)
      return answer
    })
    expect(await answers[2]).to.equal('limit: 2 artefacts are being stored already')
    gate.resolve()
    for (const answer of answers.slice(0, 2)) expect(await answer).to.have.property('sha256', hex)
    const again = put(intake, '4', 4)
    intake.feed(bytes)
    expect(await again).to.have.property('existed', true)
  })
})

describe('Upload', () => {
  let flow: string[]
  beforeEach(() => (flow = []))

  function create(parts: Partial<UploadParts>): Upload {
    return new Upload({
      sizeBytes: 4,
      sha256: undefined,
      timeoutMs: 60_000,
      pause: () => void flow.push('pause'),
      resume: () => void flow.push('resume'),
      ...parts,
    })
  }

  /** The bytes as text, or the refusal. */
  async function read(upload: Upload): Promise<string> {
    const pieces: Uint8Array[] = []
    try {
      for await (const piece of upload.bytes()) pieces.push(piece)
      return Buffer.concat(pieces).toString()
    } catch (error) {
      if (error instanceof LinkRefusal) return `${error.code}: ${error.message}`
      throw error
    }
  }

  const mismatch = 'mismatch: the bytes have another sha256 than was announced'
  const given: [what: string, parts: Partial<UploadParts>, fed: string[], read: string][] = [
    ['all bytes, empty frames between them', {}, ['', 'ab', '', 'cd'], 'abcd'],
    ['bytes of the announced hash', { sha256: hex }, ['abcd'], 'abcd'],
    ['a refusal for bytes of another hash', { sha256: hex }, ['abce'], mismatch],
    ['nothing when nothing is announced', { sizeBytes: 0 }, [], ''],
    ['a refusal for nothing with a hash', { sizeBytes: 0, sha256: hex }, [], mismatch],
  ]
  for (const [what, parts, fed, expected] of given) {
    it(`gives ${what}`, async () => {
      const upload = create(parts)
      const early = read(upload)
      for (const text of fed) expect(upload.feed(Buffer.from(text))).to.equal(true)
      expect(upload.isComplete).to.equal(true)
      expect(await early).to.equal(expected)
    })
  }

  it('fails at once with bytes that wait, and for the first reason', async () => {
    const upload = create({})
    upload.feed(Buffer.from('ab'))
    upload.fail(new LinkRefusal('mismatch', 'given up'))
    upload.fail(new LinkRefusal('limit', 'later'))
    expect(await read(upload)).to.equal('mismatch: given up')
  })

  it('is given up when no byte comes for a time, which empty frames do not prolong', async () => {
    const upload = create({ timeoutMs: 40 })
    const reading = read(upload)
    upload.feed(Buffer.from('ab'))
    const keepingAlive = setInterval(() => upload.feed(Buffer.alloc(0)), 5)
    const outcome = await reading
    clearInterval(keepingAlive)
    expect(outcome).to.equal('limit: no byte of the artefact came for 40 ms')
  })

  it('passes over all that comes once it is refused, and reads on', () => {
    const upload = create({ sizeBytes: 4096 * KiB })
    for (let sent = 0; sent < 8; sent++) upload.feed(Buffer.alloc(256 * KiB))
    upload.refuse()
    expect(flow).to.deep.equal(['pause', 'resume'])
    for (let sent = 0; sent < 8; sent++) {
      expect(upload.feed(Buffer.alloc(256 * KiB))).to.equal(true)
    }
    expect(flow).to.deep.equal(['pause', 'resume'])
    expect(upload.isComplete).to.equal(true)
    expect(upload.feed(Buffer.alloc(1))).to.equal(false)
  })
})
