import { expect } from 'chai'
import { JsonText, resultMessage } from '../../../src/server/mcp/json-text.ts'
import { UnsentAnswerBudget } from '../../../src/server/mcp/unsent-answer-budget.ts'

describe('UnsentAnswerBudget', () => {
  it('refuses an answer beyond the bound, and admits one again when others are done', () => {
    const held = new UnsentAnswerBudget(250_000)
    const text = (char: string) => resultMessage(1, JsonText.of(char.repeat(100_000)))
    const shared = JsonText.of('s'.repeat(100_000))
    const first = held.admit(1, resultMessage(1, shared))
    const again = held.admit(2, resultMessage(2, shared))
    const second = held.admit(3, text('b'))
    const refused = JSON.parse(String(held.admit(4, text('c')).text.parts[0]))
    expect(refused).to.deep.include({ id: 4 })
    expect(refused.error.data).to.deep.equal({ reason: 'answers_waiting' })
    first.release?.()
    const other = held.admit(5, text('d'))
    expect(other.text.parts, 'another still reads the shared one').to.have.length(1)
    again.release?.()
    again.release?.()
    expect(held.admit(6, text('e')).text.parts).to.have.length(3)
    second.release?.()
    expect(held.admit(7, JsonText.of({ small: true })).release).to.equal(null)
  })
})
