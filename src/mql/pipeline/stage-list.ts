/** Reads the stages of a pipeline: checks their names and positions. */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import type { SubPipelineOptions } from '../stages/stage.ts'
import { checkWithin, firstStages, lastStages, sourceStages, stages, unsupportedStages } from '../stages/table.ts'

/** MongoDB's limit for the stages of one pipeline. */
export const pipelineStagesMax = 1000

export interface StageSpec {
  readonly name: string
  readonly spec: Value
}

function isStage(name: string): boolean {
  return Object.hasOwn(stages, name) || Object.hasOwn(unsupportedStages, name) || sourceStages.has(name)
}

export function readStages(pipeline: Value, within?: SubPipelineOptions['within']): readonly StageSpec[] {
  if (pipeline.type !== bsonType.array) return refuse(14, "'pipeline' option must be specified as an array")
  const { elements } = pipeline
  if (elements.length > pipelineStagesMax) {
    refuse(9, `Pipeline length must be no longer than ${pipelineStagesMax} stages`)
  }
  return elements.map((element, index) => {
    if (element.type !== bsonType.document) return refuse(14, "Each element of the 'pipeline' array must be an object")
    const [field, ...others] = element.fields
    if (field === undefined || others.length > 0) {
      return refuse(40323, 'A pipeline stage specification object must contain exactly one field.')
    }
    const [name, spec] = field
    if (!isStage(name)) refuse(40324, `Unrecognized pipeline stage name: '${name}'`)
    if (within !== undefined) checkWithin(name, within)
    if (index > 0 && firstStages.has(name)) refuse(40602, `${name} is only valid as the first stage in a pipeline`)
    if (index < elements.length - 1 && lastStages.has(name)) {
      refuse(40601, `${name} can only be the final stage in the pipeline`)
    }
    return { name, spec }
  })
}
