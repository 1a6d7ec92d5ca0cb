import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import type { Actor } from '../../platform/ids/ids.js';
import {
  FavoriteBodyDto,
  FavoriteDto,
  FavoriteQueryDto,
  FavoritesDto,
  FavoritesQueryDto,
} from './dto/favorites.dto.js';
import { FavoriteService } from './favorite.service.js';
import type { Favorite, FavoritesPage } from './favorite.types.js';

@ApiTags('favorites')
@ApiBearerAuth()
@Controller('v1/im/favorites')
export class FavoriteController {
  constructor(private readonly favorites: FavoriteService) {}

  @Get()
  @ApiOperation({ summary: 'Messages that the user keeps at hand, the newest first' })
  @ApiOkResponse({ type: FavoritesDto })
  list(@CurrentActor() actor: Actor, @Query() query: FavoritesQueryDto): Promise<FavoritesPage> {
    return this.favorites.list(actor, query.cursor ?? null, query.limit);
  }

  @Post()
  @ApiOperation({ summary: 'Keep a message at hand' })
  @ApiCreatedResponse({ type: FavoriteDto })
  add(@CurrentActor() actor: Actor, @Body() { topic, seq }: FavoriteBodyDto): Promise<Favorite> {
    return this.favorites.add(actor, topic, seq);
  }

  @Delete()
  @HttpCode(204)
  @ApiOperation({ summary: 'Keep it no longer' })
  @ApiNoContentResponse()
  remove(@CurrentActor() actor: Actor, @Query() { topic, seq }: FavoriteQueryDto): Promise<void> {
    return this.favorites.remove(actor, topic, seq);
  }
}
