import { expect } from 'chai'
import { SceneDemand } from '../../../src/server/resources/scene-demand.ts'

describe('SceneDemand', () => {
  it('asks once for all who come during a question, and never answers them with that one', async () => {
    const answers: ((isConfirmed: boolean) => void)[] = []
    const demand = new SceneDemand()
    demand.supply({
      refresh: () => new Promise(resolve => answers.push(resolve)),
      demand: () => {},
    })
    const first = demand.refresh()
    const others = Array.from({ length: 20 }, () => demand.refresh())
    expect(answers).to.have.length(1)
    answers[0]?.(false)
    expect(await first).to.equal(false)
    await Promise.resolve()
    expect(answers).to.have.length(2)
    answers[1]?.(true)
    expect(new Set(await Promise.all(others))).to.deep.equal(new Set([true]))
    expect(answers).to.have.length(2)
  })
})
