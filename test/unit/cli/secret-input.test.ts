import { expect } from 'chai'
import { Readable } from 'node:stream'
import {
  maxSecretInputBytes,
  readSecretFromStdin,
  readTwoSecretsFromStdin,
} from '../../../src/lib/cli/secret-input.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'

async function read(chunks: readonly (string | Uint8Array)[]): Promise<string> {
  const secret = await readSecretFromStdin(
    Readable.from(chunks.map(chunk => Buffer.from(chunk))),
    '--password-stdin',
  )
  return secret.reveal()
}

async function refusal(chunks: readonly (string | Uint8Array)[]): Promise<string> {
  try {
    await read(chunks)
  } catch (error) {
    if (error instanceof ServiceError) return `${error.code}: ${error.message}`
  }
  return 'accepted'
}

describe('readSecretFromStdin', () => {
  const accepted: [chunks: string[], secret: string][] = [
    [['word\n'], 'word'],
    [['word\r\n'], 'word'],
    [['word'], 'word'],
    [['word\n\n'], 'word\n'],
    [['word\r'], 'word\r'],
    [['  two words \n'], '  two words '],
    [['wo', 'rd', '\n'], 'word'],
    [['\ufeffword\n'], '\ufeffword'],
  ]
  for (const [chunks, secret] of accepted) {
    it(`reads ${JSON.stringify(secret)} from ${JSON.stringify(chunks)}`, async () => {
      expect(await read(chunks)).to.equal(secret)
    })
  }

  it('joins a letter that arrives in two pieces', async () => {
    const bytes = Buffer.from('pässword')
    expect(await read([bytes.subarray(0, 2), bytes.subarray(2)])).to.equal('pässword')
  })

  for (const nothing of [[], [''], ['\n'], ['\r\n']]) {
    it(`refuses ${JSON.stringify(nothing)} as nothing`, async () => {
      expect(await refusal(nothing)).to.equal('usage_invalid: --password-stdin: stdin is empty')
    })
  }

  it('refuses bytes that are no text, without repeating them', async () => {
    expect(await refusal([Buffer.from([0x73, 0xff, 0x65])])).to.match(/^usage_invalid: .*not UTF-8/)
  })

  it('stops reading what has no end', async () => {
    let given = 0
    const endless = async function* () {
      for (;;) {
        given += 4096
        yield Buffer.alloc(4096, 'a')
      }
    }
    const error = await readSecretFromStdin(endless(), '--token-stdin').catch(error => error)
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
    const error = await readSecretFromStdin(terminal, '--password-stdin').catch(error => error)
    expect(error).to.include({ code: 'usage_invalid' })
    expect(error.message).to.contain('--password-stdin').and.contain('terminal')
  })
})

describe('readTwoSecretsFromStdin', () => {
  const names = ['current password', 'new password'] as const
  const readBoth = (chunks: readonly string[]) =>
    readTwoSecretsFromStdin(
      Readable.from(chunks.map(chunk => Buffer.from(chunk))),
      '--password-stdin',
      names,
    )

  const accepted: [chunks: string[], first: string, second: string][] = [
    [['old\nnew\n'], 'old', 'new'],
    [['old\nnew'], 'old', 'new'],
    [['old\r\nnew\r\n'], 'old', 'new'],
    [[' old \n', ' new \n'], ' old ', ' new '],
  ]
  for (const [chunks, first, second] of accepted) {
    it(`reads "${first}" and "${second}" from ${JSON.stringify(chunks)}`, async () => {
      const both = await readBoth(chunks)
      expect(both.map(secret => secret.reveal())).to.deep.equal([first, second])
    })
  }

  for (const text of ['old', 'old\n', 'old\n\n', '\nnew\n', 'old\nnew\n\n', 'old\nnew\nnew\n']) {
    it(`refuses ${JSON.stringify(text)}, naming both lines and repeating neither`, async () => {
      const error = await readBoth([text]).catch(error => error)
      expect(error).to.include({ code: 'usage_invalid' })
      expect(error.hint).to.contain('first line is the current').and.contain('second the new')
      expect(error.message).not.to.match(/\bold\b|\bnew\b/)
    })
  }
})
