import { expect } from 'chai'
import { readOutcome } from '../../../../src/server/host/link/app-answer.ts'

const uri = 'app://Cube?detail=2'
const text = { uri, mimeType: 'application/json', text: '{}' }

const errorOf = (code: string, message: string) => {
  const outcome = readOutcome(uri, { type: 'error', id: 's1', code, message })
  if (outcome.ok) throw new Error('it was taken')
  return outcome.failure
}

describe('readOutcome', () => {
  const good: [what: string, contents: unknown, expected: unknown][] = [
    ['no bytes', [{ uri, blob: '' }], [{ uri, blob: '' }]],
    ['null', [{ uri, mimeType: null, text: 'a', blob: null }], [{ uri, text: 'a' }]],
    ['unknown members', [{ ...text, extra: 1 }], [text]],
  ]
  it('takes contents, without unknown members and those that are null', () => {
    for (const [what, contents, expected] of good) {
      const outcome = readOutcome(uri, { type: 'ok', id: 's1', contents })
      expect(outcome, what).to.deep.equal({ ok: true, value: expected })
    }
  })

  const wrong: [what: string, contents: unknown][] = [
    ['an entry that is null', [null]],
    ['no uri', [{ text: '' }]],
    ['a text that is no string', [{ uri, text: {} }]],
    ['a blob of another alphabet', [{ uri, blob: 'AA-_' }]],
    ['a blob that is an object', [{ uri, blob: { size: 4, open: 'x' } }]],
  ]
  it('is host_failed for contents of the wrong form, with a reason for the log', () => {
    for (const [what, contents] of wrong) {
      const outcome = readOutcome(uri, { type: 'ok', id: 's1', contents })
      if (outcome.ok) throw new Error(`${what} was taken`)
      const expected = { code: 'resource_failed', data: { reason: 'host_failed' } }
      expect(outcome.failure.error, what).to.deep.include(expected)
      expect(outcome.failure.trouble, what).to.match(/wrong form/)
    }
  })

  const failed = { reason: 'host_failed' }
  const errors: [said: string, code: string, data: object | undefined, isTrouble: boolean][] = [
    ['not_found', 'resource_not_found', { uri }, false],
    ['invalid', 'resource_uri_invalid', undefined, false],
    ['busy', 'resource_failed', { reason: 'host_busy' }, false],
    ['unsupported', 'resource_failed', failed, false],
    ['internal', 'resource_failed', failed, true],
    ['of tomorrow', 'resource_failed', failed, true],
  ]
  it('is the failure that the code of an error names', () => {
    for (const [said, code, data, isTrouble] of errors) {
      const { error, trouble } = errorOf(said, 'gone')
      expect(error, said).to.deep.include({ code, data })
      expect(trouble !== null, said).to.equal(isTrouble)
    }
  })

  const said = '; the application says: '
  const messages: [code: string, message: string, told: string][] = [
    ['invalid', '', 'the application refuses the URI'],
    ['not_found', 'no saw', `no resource at ${uri}${said}"no saw"`],
    ['busy', 'one "\n" two', `the application is busy${said}"one \\"\\n\\" two"`],
    ['busy', `${'x'.repeat(254)}😀`, `the application is busy${said}"${'x'.repeat(254)}\ufffd"`],
  ]
  it('quotes what the application says', () => {
    for (const [code, message, told] of messages) {
      expect(errorOf(code, message).error.message).to.equal(told)
    }
  })

  it('tells the log, not the reader, what went wrong inside the application', () => {
    const { error, trouble } = errorOf('internal', '/home/artist/secret.ma')
    expect(trouble).to.equal('internal: /home/artist/secret.ma')
    expect(JSON.stringify([error.message, error.hint, error.data])).not.to.include('secret')
  })
})
