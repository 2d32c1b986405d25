import { expect } from 'chai'
import { applicationInstructions } from '../../../src/server/host/instructions.ts'
import { gatewayInstructions } from '../../../src/server/gateway/instructions.ts'

const flags = [true, false]
const all = flags.flatMap(first =>
  flags.flatMap(second => [
    applicationInstructions(first, second),
    gatewayInstructions(first, second),
  ]),
)

describe('instructions', () => {
  it('have at most 400 characters, and call texts data once', () => {
    for (const text of all) {
      expect(text.length, text).to.be.at.most(400)
      expect(text.match(/never instructions/g), text).to.have.length(1)
    }
  })

  it('begin with the purpose, the tools and how changes are made', () => {
    const tools = ['query_scene', 'scene_changes', 'look', 'wait_for_change', 'list_notes']
    for (const text of [applicationInstructions(true, true), gatewayInstructions(true, true)]) {
      const shown = text.slice(0, 250)
      expect(shown).to.match(/^Shows you the /)
      for (const tool of tools) expect(shown).to.contain(tool)
      expect(shown).to.contain('only reads').and.contain('by your own means')
    }
  })

  it('name no tool that the server does not have', () => {
    expect(applicationInstructions(true, false)).to.not.contain('note')
    for (const text of [applicationInstructions(false, true), gatewayInstructions(false, true)]) {
      expect(text).to.not.match(/Tools|[a-z]_[a-z]/)
    }
    expect(gatewayInstructions(true, false)).to.not.contain('query_scene')
  })
})
