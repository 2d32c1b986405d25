import { expect } from 'chai'
import { Readable } from 'node:stream'
import { maxSecretInputBytes, readSecretFromStdin } from '../../../src/lib/cli/secret-input.ts'
import { failureOf } from '../../helpers/failure.ts'

const flag = '--password-stdin'
const stdinOf = (chunks: readonly (string | Uint8Array)[]) =>
  Readable.from(chunks.map(chunk => Buffer.from(chunk)))

async function read(chunks: readonly (string | Uint8Array)[]): Promise<string> {
  return (await readSecretFromStdin(stdinOf(chunks), flag)).reveal()
}

describe('readSecretFromStdin', () => {
  const accepted: [chunks: string[], secret: string][] = [
    [['word\r\n'], 'word'],
    [['word\n\n'], 'word\n'],
    [['  two words \n'], '  two words '],
  ]
  for (const [chunks, secret] of accepted) {
    it(`reads ${JSON.stringify(secret)} from ${JSON.stringify(chunks)}`, async () => {
      expect(await read(chunks)).to.equal(secret)
    })
  }

  it('joins a letter that arrives in two pieces', async () => {
    const bytes = Buffer.from('pässword\n')
    expect(await read([bytes.subarray(0, 2), bytes.subarray(2)])).to.equal('pässword')
  })

  it('refuses stdin that is empty', async () => {
    for (const nothing of [[], ['\n'], ['\r\n']]) {
      const { code, message } = await failureOf(() => read(nothing))
      expect([code, message]).to.deep.equal(['usage_invalid', `${flag}: stdin is empty`])
    }
  })

  it('refuses bytes that are no text, without repeating them', async () => {
    const { code, message } = await failureOf(() => read([Buffer.from([0x73, 0xff, 0x65])]))
    expect([code, message]).to.deep.equal(['usage_invalid', `${flag}: stdin is not UTF-8 text`])
  })

  it('stops reading what has no end', async () => {
    let given = 0
    const endless = async function* () {
      for (;;) {
        given += 4096
        yield Buffer.alloc(4096, 'a')
      }
    }
    const error = await failureOf(() => readSecretFromStdin(endless(), '--token-stdin'))
    expect(error).to.include({ code: 'usage_invalid' })
    expect(given).to.be.at.most(maxSecretInputBytes + 2 * 4096)
  })

  it('refuses a terminal at once instead of waiting', async () => {
    const terminal = {
      isTTY: true,
      [Symbol.asyncIterator]: () => {
        throw new Error('was read')
      },
    }
    const error = await failureOf(() => readSecretFromStdin(terminal, flag))
    expect(error).to.include({ code: 'usage_invalid' })
    expect(error.message).to.contain(flag).and.contain('terminal')
  })
})
