import fc from 'fast-check'

/** The value as JSON carries it. */
export const throughJson = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown

const element = fc.record(
  { id: fc.integer({ min: 0, max: 8 }), name: fc.string(), tags: fc.array(fc.nat(3)) },
  { requiredKeys: ['id'] },
)
export const anyElements = fc.uniqueArray(element, { selector: item => item.id })

/** Lists of elements with ids, and names that a JSON pointer escapes. */
export const anyScene = fc.record({
  objects: fc.oneof(anyElements, fc.array(fc.jsonValue())),
  nested: fc.dictionary(fc.constantFrom('a', 'b', '~', 'a/b', '', '__proto__'), anyElements),
  other: fc.jsonValue(),
})
