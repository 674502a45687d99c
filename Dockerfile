# The shop with tasks inside. `docker build -t shopwright .`, then `docker run -p 127.0.0.1:8000:8000 -e SHOPWRIGHT_TOKEN shopwright` serves
# OpenEnv; `docker run -p 127.0.0.1:7860:7860 shopwright play --run /shop --host 0.0.0.0 --port 7860` is played in a browser.
FROM python:3.12-slim-bookworm AS made

WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY shopwright shopwright
COPY pipeline pipeline
COPY schemas schemas
COPY flows flows
COPY prompts prompts
COPY data/reference data/reference
RUN python -m venv /opt/shopwright \
    && /opt/shopwright/bin/pip install --no-cache-dir --constraint constraints.txt '.[hub,metrics,openenv,play,search]'

# Rows are functions of the seed: each build of a version makes the same tasks.
ARG COUNT=4
RUN /opt/shopwright/bin/shopwright build env_tasks --run /shop --count ${COUNT} --workers 2

FROM python:3.12-slim-bookworm

RUN useradd --uid 10001 --create-home shopwright
COPY --from=made /opt/shopwright /opt/shopwright
COPY --from=made --chown=10001:10001 /shop /shop
ENV PATH=/opt/shopwright/bin:$PATH PYTHONUNBUFFERED=1 DO_NOT_TRACK=1
WORKDIR /home/shopwright
USER 10001
EXPOSE 8000 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["shopwright"]
# Others reach it, so it asks for a token: the one of SHOPWRIGHT_TOKEN, or a new one, which it prints.
CMD ["serve", "--run", "/shop", "--host", "0.0.0.0", "--port", "8000", "--workers", "2"]
