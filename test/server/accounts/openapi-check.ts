import { expect } from 'chai'
import { z } from 'zod'
import { type Answer, ask } from '../../helpers/mcp.ts'

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

/** One for all servers: it says the same whatever their settings are. */
let fetched: Promise<Document> | null = null
const shapes = new Map<string, z.ZodType>()

/** Fails unless the document foresees this answer: its status, media type and body. */
export async function checkAnswer(
  base: string,
  method: string,
  path: string,
  answer: Answer,
): Promise<void> {
  fetched ??= ask(`${base}/openapi.json`).then(({ json }) => json as Document)
  const document = await fetched
  const label = `${method} ${path}: ${answer.status} ${answer.text}`
  const type = answer.headers['content-type']?.split(';')[0]
  const operation = findOperation(document, method, path)
  if (answer.status >= 400) {
    expect(type, label).to.equal('application/problem+json')
    expect(answer.json, label).to.include({ status: answer.status })
    expectShape(document, document.components.schemas['Problem']!, answer.json, label)
  } else if (operation !== undefined) {
    const foreseen = operation.responses[answer.status]
    expect(foreseen, `the document does not foresee ${label}`).to.not.equal(undefined)
    const schema = foreseen?.content?.['application/json']?.schema
    if (schema === undefined) expect(answer.text, label).to.equal('')
    else expectShape(document, schema, answer.json, label)
  }
}

function findOperation(document: Document, method: string, path: string): Operation | undefined {
  const plain = path.split('?')[0] ?? ''
  const template = plain.replace(/(\/tokens\/)[^/]+$/, '$1{id}')
  return document.paths[template]?.[method.toLowerCase()]
}

function expectShape(document: Document, schema: object, body: unknown, label: string): void {
  const key = JSON.stringify(schema)
  const whole = { ...schema, components: document.components }
  const shape = shapes.get(key) ?? z.fromJSONSchema(inlined(document, whole) as never)
  shapes.set(key, shape)
  const parsed = shape.safeParse(body)
  expect(parsed.success, `${label}\n${parsed.error?.message}`).to.equal(true)
}

/** With every reference replaced by what it names; the shapes of this document do not recur. */
function inlined(document: Document, value: object): object {
  const text = JSON.stringify(value, (key, member) => {
    if (key === 'components') return undefined
    const name = member?.$ref?.replace('#/components/schemas/', '')
    return name === undefined ? member : document.components.schemas[name]
  })
  return JSON.parse(text)
}
