import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { LinkRefusal } from '../../../../src/server/host/link/failures.ts'
import { Upload, type UploadParts } from '../../../../src/server/host/link/artefact-intake.ts'

const KiB = 1024

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

  const hash = createHash('sha256').update('abcd').digest('hex')
  const mismatch = 'mismatch: the bytes have another sha256 than was announced'
  const given: [what: string, parts: Partial<UploadParts>, fed: string[], read: string][] = [
    ['all bytes in order', {}, ['ab', 'cd'], 'abcd'],
    ['all bytes, empty frames between them', {}, ['', 'ab', '', 'cd'], 'abcd'],
    ['bytes of the announced hash', { sha256: hash }, ['abcd'], 'abcd'],
    ['a refusal for bytes of another hash', { sha256: hash }, ['abce'], mismatch],
    ['nothing when nothing is announced', { sizeBytes: 0 }, [], ''],
    [
      'a refusal for nothing with a hash of something',
      { sizeBytes: 0, sha256: hash },
      [],
      mismatch,
    ],
  ]
  for (const [what, parts, fed, expected] of given) {
    it(`gives ${what}`, async () => {
      const upload = create(parts)
      const early = read(upload)
      for (const text of fed) expect(upload.feed(Buffer.from(text))).to.equal(true)
      expect(upload.isComplete).to.equal(true)
      expect(await early).to.equal(expected)

      const late = create(parts)
      for (const text of fed) late.feed(Buffer.from(text))
      expect(await read(late)).to.equal(expected)
    })
  }

  it('takes no byte more than was announced', () => {
    const upload = create({})
    expect(upload.feed(Buffer.from('abc'))).to.equal(true)
    expect(upload.feed(Buffer.from('de'))).to.equal(false)
    expect(upload.feed(Buffer.from('d'))).to.equal(true)
    expect(upload.feed(Buffer.from('e'))).to.equal(false)
  })

  it('fails at once with bytes that wait, and for the first reason', async () => {
    const upload = create({})
    upload.feed(Buffer.from('ab'))
    upload.fail(new LinkRefusal('mismatch', 'given up'))
    upload.fail(new LinkRefusal('limit', 'later'))
    expect(await read(upload)).to.equal('mismatch: given up')
  })

  it('fails a reader that waits', async () => {
    const upload = create({})
    const reading = read(upload)
    await new Promise(resolve => setImmediate(resolve))
    upload.fail(new LinkRefusal('mismatch', 'given up'))
    expect(await reading).to.equal('mismatch: given up')
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

  it('asks to wait beyond 1 MiB and goes on from half of it', async () => {
    const upload = create({ sizeBytes: 4096 * KiB })
    const piece = Buffer.alloc(256 * KiB)
    for (let sent = 0; sent < 4; sent++) upload.feed(piece)
    expect(flow).to.deep.equal([])
    upload.feed(piece)
    upload.feed(piece)
    expect(flow).to.deep.equal(['pause'])
    const bytes = upload.bytes()
    for (let taken = 0; taken < 3; taken++) await bytes.next()
    expect(flow).to.deep.equal(['pause'])
    await bytes.next()
    expect(flow).to.deep.equal(['pause', 'resume'])
  })

  it('asks to wait for many small pieces, too', async () => {
    const upload = create({ sizeBytes: 10_000 })
    for (let sent = 0; sent < 1024; sent++) upload.feed(Buffer.alloc(1))
    expect(flow).to.deep.equal([])
    upload.feed(Buffer.alloc(1))
    expect(flow).to.deep.equal(['pause'])
    const bytes = upload.bytes()
    for (let taken = 0; taken < 513; taken++) await bytes.next()
    expect(flow).to.deep.equal(['pause', 'resume'])
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
