import { Injectable, type PipeTransform } from '@nestjs/common';
import { invalid } from '../errors/app-error.js';
import { isDecimalId, type Topic } from '../ids/ids.js';
import { isTopic } from '../ids/topic.js';

/** Path parameter: a topic name. */
@Injectable()
export class TopicPipe implements PipeTransform<string, Topic> {
  transform(value: string): Topic {
    if (!isTopic(value)) throw invalid('topic', 'must be a topic such as "grp_1"');
    return value;
  }
}

/** Path parameter: a decimal id. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!isDecimalId(value)) throw invalid('id', 'must be a decimal id');
    return value;
  }
}
