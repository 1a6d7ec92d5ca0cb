import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { validateDto } from './validation.js';

const BUILT_IN: readonly unknown[] = [String, Number, Boolean, Array, Object, undefined];

/** Bodies and queries of controllers, through the same check as socket payloads. A missing body counts as `{}`. */
@Injectable()
export class DtoValidationPipe implements PipeTransform {
  async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const dto = metadata.metatype;
    if (BUILT_IN.includes(dto) || (metadata.type !== 'body' && metadata.type !== 'query')) return value;
    // Express hands queries over as objects without a prototype.
    const plain = metadata.type === 'query' ? { ...(value as object) } : (value ?? {});
    return validateDto(dto as new () => object, plain);
  }
}
